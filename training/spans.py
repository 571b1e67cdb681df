"""Measures unsupported spans on RAGTruth's dev part: whole sentences against the model's words within sentences.

PYTHONPATH=. python training/spans.py JUDGE_DATA DEV.jsonl MODEL_FOLDER
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from judge_data import Row, read_rows

from enricher.grounding.entailment import EntailmentModel, Reading, SupportHead


def word_spans(reading: Reading, doubt: float, gap: int = 12) -> list[tuple[int, int]]:
    """Return ranges of the claim whose tokens are doubted; ranges with little between them are joined."""
    found: list[tuple[int, int]] = []
    for start, end, p in reading.words:
        if p < doubt:
            continue
        if found and start - found[-1][1] <= gap:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def f1(rows: list[Row], masks: dict[str, np.ndarray]) -> str:
    """Return precision, recall and F1 over characters, summed over rows, in per cent."""
    hit = said = true = 0
    for row in rows:
        gold = np.zeros(len(row["answer"]), bool)
        for span in row["labels"].get("spans") or []:
            gold[span["start"] : span["end"]] = True
        hit += int((gold & masks[row["id"]]).sum())
        said += int(masks[row["id"]].sum())
        true += int(gold.sum())
    return f"{100 * hit / max(1, said):.1f}/{100 * hit / true:.1f}/{200 * hit / (said + true):.1f}"


def main() -> None:
    """Read, mark, print a grid of thresholds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("model", type=Path)
    args = parser.parse_args()
    rows = read_rows(args.data / "dev/ragtruth_train_part.jsonl")
    units = [u for u in map(json.loads, args.dev.open(encoding="utf-8")) if u["set"] == "ragtruth_train_part"]
    readings = EntailmentModel(args.model, threads=2).read([(u["e"], u["c"]) for u in units])
    head = SupportHead(args.model)
    support = [head.probability(r, u["x"]) for r, u in zip(readings, units, strict=True)]
    answers = {row["id"]: row["answer"] for row in rows}
    print("precision/recall/F1 of characters; columns: sentence flagged below")
    cuts = (0.2, 0.3, 0.4, 0.5)
    for doubt in (None, 0.3, 0.4, 0.5, 0.6, 0.7):
        cells = []
        for cut in cuts:
            masks: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(0, bool))
            masks.update({key: np.zeros(len(text), bool) for key, text in answers.items()})
            for unit, reading, p in zip(units, readings, support, strict=True):
                if p >= cut:
                    continue
                mask, start, end = masks[unit["row"]], unit["start"], unit["end"]
                shift = answers[unit["row"]].find(unit["c"][:20], start)
                spans = word_spans(reading, doubt) if doubt and start <= shift < end else []
                for a, b in [(shift + a, shift + b) for a, b in spans] or [(start, end)]:
                    mask[a:b] = True
            cells.append(f"<{cut}: {f1(rows, masks):18}")
        print(f"{'sentences' if doubt is None else f'words >= {doubt}':14}", *cells)


if __name__ == "__main__":
    main()
