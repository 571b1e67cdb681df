"""Fits how the model's reading of a claim joins what the words say, and prints the dev sets with and without it.

    PYTHONPATH=. python training/fit.py READ_UNITS.jsonl.gz [--head HEAD.json]

The head for claims is fitted on the training sources that training left out; the dev sets choose only scale, shift and
the model's share in the probability of an answer.
"""

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

Unit = dict[str, Any]
STATUSES = ("FULLY_SUPPORTED", "PARTIALLY_SUPPORTED", "UNSUPPORTED", "CONTRADICTED")
FEATURES = ("supported", "contradicted", "peak", "doubt", "share", "partial", "unsupported", "clash", "certain")
WORST = 0.7


def features(claim: dict[str, Any]) -> list[float]:
    m = claim["m"]
    status = claim["status"]
    return [*m, claim["share"], float(status == STATUSES[1]), float(status == STATUSES[2]),
            float(status == STATUSES[3]), float(claim["certain"])]  # fmt: skip


def logit(p: float) -> float:
    p = min(max(p, 1e-4), 1 - 1e-4)
    return float(np.log(p / (1 - p)))


def auroc(y: np.ndarray, s: np.ndarray) -> float:
    _, inverse, counts = np.unique(s, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    n, m = int(y.sum()), int((~y).sum())
    return float((ranks[y].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def balanced(y: np.ndarray, s: np.ndarray, cut: float = 0.0) -> float:
    return float((s[y] >= cut).mean() / 2 + (s[~y] < cut).mean() / 2)


def best_balanced(y: np.ndarray, s: np.ndarray) -> float:
    return max(balanced(y, s, c) for c in np.unique(np.quantile(s, np.linspace(0, 1, 80))))


def importance(unit: Unit) -> float:
    return 0.35 if unit["set"] in ("held_begin", "held_faithdial_audit") else 1.5


def fit_claims(units: list[Unit]) -> tuple[np.ndarray, float]:
    rows, labels, weights = [], [], []
    for u in units:
        single = u["view"] == "claim" or (len(u["claims"]) == 1 and not u["set"].startswith("held_bump"))
        if u["set"].startswith("held") and single and len(u["claims"]) == 1 and u["claims"][0]["m"]:
            rows.append(features(u["claims"][0]))
            labels.append(u["y"])
            weights.append(importance(u))
    x, y, w = np.array(rows), np.array(labels), np.array(weights)
    mean, scale = x.mean(0), x.std(0) + 1e-6
    head = LogisticRegression(C=0.3, max_iter=5000, class_weight="balanced").fit((x - mean) / scale, y, sample_weight=w)
    weights_ = head.coef_[0] / scale
    print(f"head on {len(y)} held-out claims, {int(y.sum())} supported")
    return weights_, float(head.intercept_[0] - weights_ @ mean)


def claim_scores(unit: Unit, weights: np.ndarray, bias: float) -> list[float]:
    return [float(np.dot(weights, features(c)) + bias) if c["m"] else (3.0 if c["status"] == STATUSES[0] else -3.0)
            for c in unit["claims"]]  # fmt: skip


def model_scores(unit: Unit) -> list[float]:
    return [c["m"][0] if c["m"] else -2.0 for c in unit["claims"]]


def joined(values: list[float]) -> float:
    return WORST * min(values) + (1 - WORST) * float(np.mean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("units", type=Path)
    parser.add_argument("--head", type=Path)
    args = parser.parse_args()
    with gzip.open(args.units, "rt", encoding="utf-8") as lines:
        units = [json.loads(line) for line in lines]
    weights, bias = fit_claims(units)
    print(dict(zip(FEATURES, weights.round(3), strict=True)), round(bias, 3))
    names = sorted({(u["set"], u["view"]) for u in units})
    shares = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
    print(f"{'set':30}{'n':>6}{'today':>16}{'model':>16}{'head':>16}   " + "".join(f"{s:>8}" for s in shares))
    sums = np.zeros(len(shares))
    for name in names:
        mine = [u for u in units if (u["set"], u["view"]) == name]
        y = np.array([u["y"] for u in mine])
        today = np.array([logit(u["p"]) for u in mine])
        model = np.array([joined(model_scores(u)) for u in mine])
        head = np.array([joined(claim_scores(u, weights, bias)) for u in mine])
        cells = "".join(
            f"{100 * auroc(y, s):8.1f}{100 * balanced(y, s):5.0f}{100 * best_balanced(y, s):3.0f}"
            for s in (today, model, head)
        )
        mixes = [100 * auroc(y, today + s * head) for s in shares]
        if not name[0].startswith("held"):
            sums += np.array(mixes)
        print(f"{name[0] + ' ' + name[1]:30}{len(y):6}{cells}   " + "".join(f"{m:8.1f}" for m in mixes))
    print("mean over dev", (sums / sum(not n[0].startswith("held") for n in names)).round(2))


if __name__ == "__main__":
    main()
