"""Trains the edit reader on one core, in two stages: on made claims, then with people's summaries as well.

    PYTHONPATH=.:training python training/train_edits.py ENCODER_FOLDER OUT_FOLDER PAIRS.jsonl.gz ... --steps N
    ... --start BASE/model.pt --people 0.45 --without 0 3      # second stage, two folds of sources left out

Without `--people` no labelled summary is read, nor an edit of one, so that folds can be cut in the second stage alone.
A stopped run goes on from the last checkpoint in OUT_FOLDER.
"""

import argparse
import gzip
import json
import random
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from matching import matches
from model import Entailment
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

MAX_TOKENS, MAX_CLAIM_TOKENS = 128, 64
BATCH, CHUNK, WARM_STEPS, SMOOTHING, CHECKPOINT_SECONDS = 32, 16, 100, 0.03, 240

Pair = dict[str, Any]


def source(pair: Pair) -> str:
    """Name the wheel a pair is drawn from."""
    human, bump = pair["k"].startswith("human"), pair["d"].startswith("bump")
    if human and bump:
        return "people"
    return "others" if human else "news" if bump else "web"


def read_pairs(paths: list[Path], without: list[int]) -> dict[str, list[Pair]]:
    """Read the pairs by wheel, each once, without the summaries and articles of some folds."""
    found: dict[str, list[Pair]] = {"people": [], "others": [], "news": [], "web": []}
    seen = set()
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for pair in map(json.loads, lines):
                key = (pair["e"], pair["c"])
                if key in seen or (pair["d"].startswith("bump") and pair["f"] in without):
                    continue
                seen.add(key)
                is_reply = pair["d"].startswith(("begin", "faithdial")) and pair["k"].startswith("human_")
                if is_reply and zlib.crc32(pair["c"].encode()) % 3:
                    continue  # dialogue replies are many and unlike answers
                found[source(pair)].append(pair)
    return found


def ordered(sources: dict[str, list[Pair]], shares: dict[str, float], steps: int, seed: int) -> list[list[Pair]]:
    """Lay out the batches, each wheel in rounds of its own."""
    rng = random.Random(seed)
    wheel: dict[str, Iterator[Pair]] = {name: iter(()) for name in shares}
    batches: list[list[Pair]] = []
    while len(batches) < steps:
        chunk: list[Pair] = []
        for name in rng.choices(list(shares), list(shares.values()), k=BATCH * CHUNK):
            item = next(wheel[name], None)
            if item is None:
                wheel[name] = iter(rng.sample(sources[name], len(sources[name])))
                item = next(wheel[name])
            chunk.append(item)
        chunk.sort(key=lambda p: len(p["e"]) + len(p["c"]))
        cut = [chunk[i : i + BATCH] for i in range(0, len(chunk), BATCH)]
        rng.shuffle(cut)
        batches.extend(cut)
    return batches[:steps]


def encode(
    tokenizer: Tokenizer, claim_text: str, evidence_text: str
) -> tuple[list[int], list[int], list[int], list[tuple[int, int]]]:
    """Return token ids, types, matches, and the offsets of the claim's tokens."""
    claim = tokenizer.encode(claim_text)
    evidence = tokenizer.encode(evidence_text, add_special_tokens=False)
    ids, offsets = claim.ids[:-1][: MAX_CLAIM_TOKENS + 1], claim.offsets[:-1][: MAX_CLAIM_TOKENS + 1]
    tail = evidence.ids[: MAX_TOKENS - len(ids) - 2]
    found = [0, *matches(ids[1:], tail), 0, *matches(tail, ids[1:]), 0]
    return [*ids, 102, *tail, 102], [0] * (len(ids) + 1) + [1] * (len(tail) + 1), found, offsets


def tensors(tokenizer: Tokenizer, batch: list[Pair]) -> dict[str, Tensor]:
    """Encode pairs, padded, and lay the broken ranges over the claim tokens (-1 where nobody marked them)."""
    rows = []
    for pair in batch:
        ids, types, found, offsets = encode(tokenizer, pair["c"], pair["e"])
        marks = [-1.0] * len(ids)
        if pair.get("b") is not None:
            for i, (start, end) in enumerate(offsets):
                if end > start:
                    marks[i] = float(any(start < b and a < end for a, b in pair["b"]))
        rows.append((ids, types, marks, found))
    length = max(len(r[0]) for r in rows)

    def pad(i: int, fill: float) -> Tensor:
        return torch.tensor([r[i] + [fill] * (length - len(r[i])) for r in rows])

    return {
        "input_ids": pad(0, 0),
        "token_type_ids": pad(1, 1),
        "match_ids": pad(3, 0),
        "marks": pad(2, -1.0),
        "attention_mask": torch.tensor([[1] * len(r[0]) + [0] * (length - len(r[0])) for r in rows]),
        "label": torch.tensor([p.get("y", 0) for p in batch]),
    }


def loss_of(model: Entailment, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Return the verdict loss and the token loss."""
    verdict, token = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], batch["match_ids"])
    verdict, token = verdict.float(), token.float()
    logs = functional.log_softmax(verdict, dim=-1)
    either = torch.logsumexp(logs[:, 1:], dim=-1)
    known = logs.gather(1, batch["label"].clamp(min=0).unsqueeze(1)).squeeze(1)
    # Which of the two kinds of error it is counts little here; that it is one counts.
    hit = torch.where(batch["label"] < 0, either, torch.where(batch["label"] > 0, 0.8 * either + 0.2 * known, known))
    verdict_loss = -((1 - SMOOTHING) * hit + SMOOTHING * (logs[:, 0] + either) / 2).mean()
    marked = batch["marks"] >= 0
    if not marked.any():
        return verdict_loss, verdict_loss.new_zeros(())
    weight = 1 + 2 * batch["marks"][marked]
    return verdict_loss, functional.binary_cross_entropy_with_logits(token[marked], batch["marks"][marked], weight)


def optimizer_for(model: Entailment, rate: float, decay: float = 0.9) -> torch.optim.AdamW:
    """Give lower layers smaller steps and the heads larger ones; the embeddings stay as they are."""
    layers = model.encoder.encoder.layer
    groups = [
        {"params": list(layer.parameters()), "lr": rate * decay ** (len(layers) - 1 - d)}
        for d, layer in enumerate(layers)
    ]
    heads = [*model.verdict.parameters(), *model.token.parameters(), *model.match.parameters()]
    return torch.optim.AdamW([*groups, {"params": heads, "lr": rate * 5}], weight_decay=0.01)


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--decay", type=int, default=400)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--people", type=float, default=0.0)
    parser.add_argument("--without", type=int, nargs="*", default=[])
    parser.add_argument("--start", type=Path)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    tokenizer = Tokenizer.from_file(str(args.encoder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    model = Entailment(args.encoder, 0, attention="eager", dropout=0.1).train()
    if args.start:
        model.load_state_dict(torch.load(args.start))
    optimizer = optimizer_for(model, args.rate)
    warm = WARM_STEPS if not args.start else 15
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda i: min((i + 1) / warm, max(0.02, (args.steps - i) / args.decay), 1.0)
    )
    sources = read_pairs(args.pairs, args.without)
    print({k: len(v) for k, v in sources.items()}, flush=True)
    rest = 1 - args.people
    shares = {"people": args.people, "others": 0.28 * rest, "news": 0.52 * rest, "web": 0.20 * rest}
    batches = ordered(sources, {k: v for k, v in shares.items() if v}, args.steps, args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    saved, first = args.out / "checkpoint.pt", 0
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = schedule.last_epoch = state["step"]
    started = stored = time.monotonic()
    running = [0.0, 0.0]
    for step in range(first, args.steps):
        with torch.autocast("cpu", torch.bfloat16):
            verdict, token = loss_of(model, tensors(tokenizer, batches[step]))
        (verdict + token).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        running = [0.97 * running[0] + 0.03 * verdict.item(), 0.97 * running[1] + 0.03 * token.item()]
        if step % 10 == 9:
            scale = 1 - 0.97 ** (step - first + 1)
            pace = (step - first + 1) * BATCH / (time.monotonic() - started)
            print(
                f"{step + 1:5} verdict {running[0] / scale:.4f} token {running[1] / scale:.4f} {pace:.1f} pairs/s",
                flush=True,
            )
        if time.monotonic() - stored > CHECKPOINT_SECONDS or step + 1 == args.steps:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, saved)
            stored = time.monotonic()
    torch.save(model.state_dict(), args.out / "model.pt")


if __name__ == "__main__":
    main()
