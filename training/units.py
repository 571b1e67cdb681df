"""Lays out labelled rows as the engine sees them: claims with the window the model reads, and what the words alone say.

    PYTHONPATH=. python training/units.py JUDGE_DATA OUT.jsonl.gz

Every line is an answer or a labelled claim: {"set", "row", "y": faithful, "view": "answer" or "claim", "signals",
"p": today's probability, "claims": [{"c", "e", "status", "share", "certain", "start", "end"}], "spans"}. The set
`held` holds the training sources that training left out.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judge_data import Row, claims_of, clean_claim, group_of, is_held, read_rows, summary_claims, training_rows

from enricher.grounding import engine
from enricher.grounding.probability import read_signals
from enricher.grounding.search import Evidence
from enricher.grounding.windows import window
from enricher.records import item_of
from enricher.steps.segmentation import split_item
from enricher.steps.validation import cleaned

ANSWERS = (
    "ragtruth_train_part.jsonl", "wice_claim.jsonl.gz", "attributionbench.jsonl", "summac_factcc_val.jsonl",
    "summac_polytope_val.jsonl.gz", "summac_summeval_val.jsonl", "summac_xsumfaith_val.jsonl", "begin.jsonl",
    "faithdial_audit.jsonl", "nli_sick.jsonl.gz", "nli_wice_oracle.jsonl", "lfqa_verification.jsonl", "expertqa.jsonl",
)  # fmt: skip
CLAIMS = ("lfqa_verification.jsonl", "expertqa.jsonl", "factscore.jsonl.gz")
MOST = {"factscore": 1500, "expertqa": 700, "faithdial_audit": 350, "summac_polytope_val": 300, "begin": 300,
        "nli_sick": 500, "nli_wice_oracle": 500}  # fmt: skip


def seen(row: Row) -> dict[str, Any] | None:
    """Run the words' part of the engine over a row."""
    item = split_item(cleaned(item_of({**row, "documents": row["documents"], "answer": row["answer"]})))
    evidence, question = Evidence(item), engine._question(item)
    claims, readings, decisions = [], [], []
    for sentence in item.sentences:
        reading = engine._reading(sentence, item, evidence)
        decision = engine._decide(sentence, reading, evidence, question)
        if decision is None:
            continue
        readings.append(reading)
        decisions.append(decision)
        claims.append(
            {
                "c": reading.text.strip(),
                "e": window(reading, evidence),
                "status": decision.status.value,
                "issue": decision.issue.value,
                "share": round(decision.share, 4),
                "certain": decision.is_certain,
                "start": sentence.start,
                "end": sentence.end,
                "language": reading.language,
            }
        )
    if not claims:
        return None
    signals = read_signals(readings, decisions, evidence)
    return {"claims": claims, "signals": list(signals), "p": engine._probability(readings, decisions, evidence)}


def units(data: Path) -> Iterator[dict[str, Any]]:
    """Yield everything that is labelled: the held-out training sources first, then the dev sets."""
    rows = training_rows(data)
    for row in rows:
        faithful = row["labels"]["faithful"]
        if not is_held(row) or faithful is None:
            continue
        base = {"set": "held_" + row["dataset"], "row": row["id"], "group": group_of(row)}
        yield {**base, "view": "answer", "y": faithful, "record": row}
        if row["dataset"].startswith("bump"):
            same = [r for r in rows if group_of(r) == group_of(row) and r["labels"]["faithful"]]
            for _, text, label, _ in summary_claims(row, same):
                yield {**base, "view": "claim", "y": label == 0, "record": {**row, "answer": text}}
    for name in ANSWERS:
        short = name.split(".")[0]
        chosen = [r for r in read_rows(data / "dev" / name) if r["labels"].get("faithful") is not None]
        for row in random.Random(3).sample(chosen, min(len(chosen), MOST.get(short, 10**6))):
            base = {"set": short, "row": row["id"], "group": group_of(row), "spans": row["labels"].get("spans")}
            yield {**base, "view": "answer", "y": row["labels"]["faithful"], "record": row}
    for name in CLAIMS:
        short = name.split(".")[0]
        made = [(r, c) for r in read_rows(data / "dev" / name) for c in claims_of(r)]
        for row, (text, label, documents) in random.Random(3).sample(made, min(len(made), MOST.get(short, 10**6))):
            record = {**row, "documents": documents, "answer": clean_claim(text)}
            base = {"set": short, "row": row["id"], "group": group_of(row)}
            yield {**base, "view": "claim", "y": label == "supported", "record": record}


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    with gzip.open(args.out, "wt", encoding="utf-8") as out:
        for unit in units(args.data):
            found = seen(unit.pop("record"))
            if found is not None:
                out.write(json.dumps({**unit, **found}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
