"""Measures a model on the dev sets, fits the head that joins it with word overlap, and prints both against the floor.

    PYTHONPATH=. python training/measure.py DEV.jsonl MODEL_FOLDER [--share 1.0] [--head HEAD.json] [--save OUT.npz]

DEV.jsonl comes from dev_sets.py. Two heads, on word overlap and on the model, are fitted on the held-out training
sources only; dev chooses one number, the share of the model in their sum, then scale and shift. Answers are scored by
their claims, mostly by the worst one.
"""

import argparse
import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from enricher.grounding.entailment import WORST_SHARE, EntailmentModel, model_features
from enricher.grounding.windows import FEATURES

Unit = dict[str, Any]
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)  # of the model in the joint score, chosen on dev
MODEL_FEATURES = ("supported", "contradicted", "peak", "doubt")


def read_units(path: Path, share: float) -> list[Unit]:
    """Read the claims, or a share of the rows chosen by the hash of their ids; held-out claims are always read."""
    units = [json.loads(line) for line in path.open(encoding="utf-8")]
    limit = int(share * 2**32)
    return [
        u
        for u in units
        if u["set"] == "held" or _number(u["row"] + str(u["c"] if u["set"] == "factscore" else "")) < limit
    ]


def fit(x: np.ndarray, y: np.ndarray, importance: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit a logistic head and fold the scaling of the features into its weights."""
    mean, scale = x.mean(0), x.std(0) + 1e-6
    head = LogisticRegression(C=0.3, max_iter=2000, class_weight="balanced")
    head.fit((x - mean) / scale, y, sample_weight=importance)
    weights = head.coef_[0] / scale
    return weights, float(head.intercept_[0] - weights @ mean)


def auroc(y: np.ndarray, s: np.ndarray) -> float:
    """Return the probability that a supported row outranks another, ties counting one half."""
    _, inverse, counts = np.unique(s, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    n, m = int(y.sum()), int((~y).sum())
    return float((ranks[y].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def best_balanced(y: np.ndarray, s: np.ndarray) -> float:
    """Return the balanced accuracy at the best threshold of this very set (an upper bound, to see what ranks)."""
    cuts = np.unique(np.quantile(s, np.linspace(0, 1, 80)))
    return max((s[y] >= c).mean() / 2 + (s[~y] < c).mean() / 2 for c in cuts)


def balanced(y: np.ndarray, s: np.ndarray, cut: float = 0.0) -> float:
    """Return the balanced accuracy at a threshold."""
    return float((s[y] >= cut).mean() / 2 + (s[~y] < cut).mean() / 2)


def answers(units: list[Unit], scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Score whole answers by their claims: mostly by the worst, partly by the mean."""
    rows: dict[str, list[float]] = defaultdict(list)
    faithful: dict[str, bool] = {}
    for unit, score in zip(units, scores, strict=True):
        if unit["faithful"] is not None:
            rows[unit["row"]].append(score)
            faithful[unit["row"]] = unit["faithful"]
    keys = list(rows)
    value = np.array([WORST_SHARE * min(rows[k]) + (1 - WORST_SHARE) * float(np.mean(rows[k])) for k in keys])
    return np.array([faithful[k] for k in keys]), value


def table(units: list[Unit], columns: dict[str, np.ndarray]) -> str:
    """Lay out AUROC, balanced accuracy at 0 and at the best threshold, by set and kind of score."""
    lines = [f"{'set':26}{'n':>6} " + "".join(f"{name:>24}" for name in columns)]
    sets = sorted({u["set"] for u in units})
    calibrated = {column: calibration(units, scores, "answers") for column, scores in columns.items()}
    for name in sets:
        where = np.array([u["set"] == name for u in units])
        mine = [u for u in units if u["set"] == name]
        views = [("answers", None)] if mine[0]["claim_label"] is None else [("claims", 1), ("answers", None)]
        for view, by_claim in views:
            cells, n = [], 0
            for column, scores in columns.items():
                s = scores[where]
                if by_claim:
                    y = np.array([u["claim_label"] == "supported" for u in mine])
                else:
                    y, s = answers(mine, s)
                    scale, shift = calibrated[column]
                    s = scale * s + shift
                n = len(y)
                cells.append(f"{100 * auroc(y, s):8.1f}{100 * balanced(y, s):8.1f}{100 * best_balanced(y, s):8.1f}")
            if name not in ("factscore", "held") or by_claim:
                lines.append(f"{name + ' ' + view:26}{n:6} " + "".join(cells))
    return "\n".join(lines)


def mean_auroc(units: list[Unit], scores: np.ndarray) -> float:
    """Return the mean over the dev sets of the AUROC of claims, or of answers where claims have no labels."""
    values = []
    for name in sorted({u["set"] for u in units} - {"held"}):
        where = [i for i, u in enumerate(units) if u["set"] == name]
        mine = [units[i] for i in where]
        if mine[0]["claim_label"] is None:
            values.append(auroc(*answers(mine, scores[where])))
        else:
            values.append(auroc(np.array([u["claim_label"] == "supported" for u in mine]), scores[where]))
    return float(np.mean(values))


def _importance(unit: Unit) -> float:
    """Weigh dialogue replies less: they are many, and unlike the answers that are judged."""
    return 0.35 if unit["row"].startswith(("begin", "fdaudit")) else 1.5


def calibration(units: list[Unit], scores: np.ndarray, view: str) -> tuple[float, float]:
    """Fit scale and shift on the dev sets, every set and class weighing the same, so that 0.5 parts the classes."""
    values, labels, weights = [], [], []
    for name in sorted({u["set"] for u in units} - {"held"}):
        where = [i for i, u in enumerate(units) if u["set"] == name]
        mine = [units[i] for i in where]
        if view == "answers":
            if name == "factscore":
                continue
            y, s = answers(mine, scores[where])
        else:
            single = mine[0]["claim_label"] is None
            if single and name not in ("wice_claim", "attributionbench", "summac_factcc_val"):
                continue
            y = np.array([u["faithful"] if single else u["claim_label"] == "supported" for u in mine])
            s = scores[where]
        values.append(s)
        labels.append(y)
        weights.append(np.where(y, 0.5 / max(1, y.sum()), 0.5 / max(1, (~y).sum())))
    x, y, w = np.concatenate(values), np.concatenate(labels), np.concatenate(weights)
    line = LogisticRegression(C=1e6).fit(x[:, None], y, sample_weight=w * len(y))
    return float(line.coef_[0, 0]), float(line.intercept_[0])


def calibration_error(y: np.ndarray, scores: np.ndarray, bins: int = 10) -> float:
    """Return the expected calibration error of log odds, in equal bins of probability."""
    p = 1 / (1 + np.exp(-scores))
    place = np.minimum((p * bins).astype(int), bins - 1)
    return sum(abs(y[place == b].mean() - p[place == b].mean()) * (place == b).mean() for b in np.unique(place))


def _number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def main() -> None:
    """Read, score, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dev", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", type=Path, help="keep units' features and scores here (.npz)")
    parser.add_argument("--head", type=Path, help="write the fitted head here (JSON)")
    args = parser.parse_args()
    units = read_units(args.dev, args.share)
    readings = EntailmentModel(args.model, threads=args.threads).read([(u["e"], u["c"]) for u in units])
    model = np.array([model_features(r) for r in readings])
    overlap = np.array([u["x"] for u in units])
    if args.save:
        np.savez_compressed(args.save, model=model, overlap=overlap)
    held = np.array([u["set"] == "held" for u in units])
    y = np.array([u["claim_label"] == "supported" for u in units])[held]
    importance = np.array([_importance(u) for u in units if u["set"] == "held"])
    words, word_bias = fit(overlap[held], y, importance)
    own, own_bias = fit(model[held], y, importance)
    by_words, by_model = overlap @ words + word_bias, model @ own + own_bias
    share = max(SHARES, key=lambda s: mean_auroc(units, by_words + s * by_model))
    columns = {"overlap": by_words, "model": by_model, "fused": by_words + share * by_model}
    scales = {name: calibration(units, scores, "claims") for name, scores in columns.items()}
    columns = {name: scales[name][0] * scores + scales[name][1] for name, scores in columns.items()}
    scale, shift = scales["fused"]
    weights = scale * np.concatenate((share * own, words))
    bias = scale * (word_bias + share * own_bias) + shift
    answer_scale, answer_shift = calibration(units, columns["fused"], "answers")
    print(f"share of the model: {share}")
    print("each column: AUROC, balanced accuracy at 0.5, balanced accuracy at the set's best threshold")
    print(table(units, columns))
    lfqa = [i for i, u in enumerate(units) if u["set"] == "lfqa_verification"]
    truth = np.array([units[i]["claim_label"] == "supported" for i in lfqa])
    print(f"expected calibration error, LFQA sentences: {calibration_error(truth, columns['fused'][lfqa]):.3f}")
    if args.head:
        head = {
            "features": [*MODEL_FEATURES, *FEATURES],
            "weights": weights.round(4).tolist(),
            "bias": round(bias, 4),
            "answer": {"scale": round(answer_scale, 4), "bias": round(answer_shift, 4)},
        }
        args.head.write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
