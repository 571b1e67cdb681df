"""Prints by how much AUROC moves when a trained reader takes part, gated, in the probability of an answer.

    python training/join_edits.py READ.jsonl.gz ...

A sentence is asked about from a share on; what the reader says of it below a bound is taken off the answer's log odds,
the worst sentence and the mean added up, times a weight. A sentence that isn't asked about costs nothing.
"""

import gzip
import json
import math
import random
import sys
from itertools import product
from typing import Any

import numpy as np

Unit = dict[str, Any]
MOST, ROUNDS = 6.0, 1000
VARIANTS = [*product((0.7,), (0.0, 1.0, 2.0), (0.35, 0.7)), (0.6, 1.0, 0.35), (0.6, 1.0, 0.7)]  # share, bound, weight


def auroc(labels: list[bool], scores: list[float]) -> float:
    """Return the area under the curve in per cent, ties counted half."""
    y, s = np.array(labels, bool), np.array(scores)
    _, inverse, counts = np.unique(s, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    n, m = int(y.sum()), int((~y).sum())
    return float(100 * (ranks[y].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def log_odds(unit: Unit) -> float:
    """Return what the engine of today says."""
    p = min(max(unit["p"], 1e-4), 1 - 1e-4)
    return math.log(p / (1 - p))


def penalty(unit: Unit, share: float, bound: float) -> float:
    """Return what the reader takes off, zero or less."""
    found = [max(-MOST, min(0.0, c["m"][0] - bound)) if c["m"] and c["share"] >= share else 0.0 for c in unit["claims"]]
    return min(found) + sum(found) / len(found)


def interval(units: list[Unit], share: float, bound: float, weight: float) -> list[float]:
    """Return the 95 % interval of the change, sources drawn with replacement."""
    rng, sources, moved = random.Random(0), sorted({u["group"] for u in units}), []
    for _ in range(ROUNDS):
        drawn = [u for g in rng.choices(sources, k=len(sources)) for u in units if u["group"] == g]
        y, before = [u["y"] for u in drawn], [log_odds(u) for u in drawn]
        after = [b + weight * penalty(u, share, bound) for b, u in zip(before, drawn, strict=True)]
        moved.append(auroc(y, after) - auroc(y, before))
    return [round(float(v), 1) for v in np.percentile(moved, [2.5, 50, 97.5])]


def main() -> None:
    """Print the table."""
    units = []
    for path in sys.argv[1:]:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            units += [json.loads(line) for line in lines]
    print(f"{'set':24}{'rows':>6}{'today':>7}  " + " ".join(f"{s}/{b:g}/{w}".rjust(11) for s, b, w in VARIANTS))
    for name in sorted({u["set"] for u in units}):
        mine = [u for u in units if u["set"] == name]
        y, before = [u["y"] for u in mine], [log_odds(u) for u in mine]
        moved = []
        for share, bound, weight in VARIANTS:
            after = [b + weight * penalty(u, share, bound) for b, u in zip(before, mine, strict=True)]
            moved.append(f"{auroc(y, after) - auroc(y, before):+11.1f}")
        print(f"{name:24}{len(mine):6}{auroc(y, before):7.1f}  " + " ".join(moved))
        if name == "bump":
            print(" " * 24, "95 %:", interval(mine, 0.7, 1.0, 0.7), "for 0.7/1/0.7")


if __name__ == "__main__":
    main()
