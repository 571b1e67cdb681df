"""Lays out labelled rows as the engine judges them, with the evidence that is read beside each of their sentences.

PYTHONPATH=.:training:benchmarks python training/edit_units.py JUDGE_DATA OUT.jsonl.gz [--limit 250] [--sets NAME ...]
PYTHONPATH=.:training:benchmarks python training/edit_units.py JUDGE_DATA OUT.jsonl.gz --bump   # train/bump.jsonl.gz
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import quality
from judge_data import Row, fold, group_of, read_rows

from enricher.grounding import engine, nearness
from enricher.grounding.search import Evidence
from enricher.grounding.windows import window
from enricher.records import item_of
from enricher.steps.segmentation import split_item
from enricher.steps.validation import cleaned


def seen(name: str, row: Row) -> dict[str, Any] | None:
    """Judge a row; None when nothing in it is checkable."""
    item = split_item(cleaned(item_of(row)))
    if not item.sentences:
        return None
    evidence, question = Evidence(item), engine._question(item)
    texts = [_flat(document.text) for document in item.documents]
    readings, decisions = [], []
    for sentence in item.sentences:
        reading = engine._reading(sentence, item, evidence)
        if decision := engine._decide(sentence, reading, evidence, question):
            readings.append(reading)
            decisions.append(decision)
    if not decisions:
        return None
    near = nearness.read_closeness(readings, decisions, evidence)
    nearness.settle(decisions, near)
    claims = [
        {
            "c": reading.text.strip(),
            "e": window(reading, evidence),
            "copied": any(_flat(reading.text).strip(" .") in text for text in texts),
            "status": decision.status.value,
            "share": round(decision.share, 4),
            "language": reading.language,
        }
        for reading, decision in zip(readings, decisions, strict=True)
    ]
    return {
        "set": name,
        "row": row["id"],
        "group": group_of(row),
        "f": fold(group_of(row)),
        "y": row["labels"]["faithful"],
        "question": row.get("question"),
        "p": engine._probability(readings, decisions, near, evidence),
        "claims": claims,
        "records": evidence.is_of_records,
    }


def _flat(text: str) -> str:
    return " ".join(text.split()).lower()


def tasks(data: Path, sets: list[str] | None, limit: int, is_bump: bool) -> Iterator[tuple[str, Row]]:
    """Yield the labelled rows, of dev as quality.py draws them."""
    if is_bump:
        yield from (("bump", row) for row in read_rows(data / "train" / "bump.jsonl.gz"))
        return
    for line in quality._lines(quality._scorer(data / "dev"), [data / "dev"], sets, limit):
        yield from ((line.name, row) for row in line.gold)


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--limit", type=int, default=250)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--bump", action="store_true")
    args = parser.parse_args()
    with gzip.open(args.out, "wt", encoding="utf-8") as out:
        for name, row in tasks(args.data, args.sets, args.limit, args.bump):
            if unit := seen(name, row):
                out.write(json.dumps(unit, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
