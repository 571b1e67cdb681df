"""Lays out the dev sets (and the held-out fold of BUMP) as claims with the evidence the engine would choose for them.

    PYTHONPATH=. python training/dev_sets.py JUDGE_DATA OUT.jsonl

Every line is {"set", "row", "group", "c", "e", "x": overlap features, "claim_label", "faithful": of the row}; labels
may be null. The set `held` holds the held-out training sources.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from build_dataset import is_held, summary_claims, training_rows
from judge_data import Row, claims_of, clean_claim, document_sentences, group_of, read_rows, sentences

from enricher.grounding import windows as search

Unit = dict[str, Any]
_ANSWERS = (
    "dev/ragtruth_train_part.jsonl", "dev/wice_claim.jsonl.gz", "dev/attributionbench.jsonl", "train/bump.jsonl.gz",
    "dev/summac_factcc_val.jsonl", "dev/summac_polytope_val.jsonl.gz", "dev/summac_summeval_val.jsonl",
    "dev/summac_xsumfaith_val.jsonl", "dev/begin.jsonl", "dev/faithdial_audit.jsonl",
)  # fmt: skip
_CLAIMS = ("dev/lfqa_verification.jsonl", "dev/expertqa.jsonl", "dev/factscore.jsonl.gz")
_MOST = {"factscore": 1200, "expertqa": 700, "faithdial_audit": 300, "summac_polytope_val": 250, "begin": 300}


def units(name: str, rows: list[Row]) -> Iterator[Unit]:
    """Yield the claims of a set: labelled claims where the set has them, else the sentences of the answers."""
    for row in rows:
        faithful = row["labels"].get("faithful")
        base = {"set": name, "row": row["id"], "group": group_of(row), "faithful": faithful, "claim_label": None}
        if name in ("lfqa_verification", "expertqa", "factscore"):
            contexts: dict[str, search.Context] = {}
            for text, label, documents in claims_of(row):
                key = " ".join(d["id"] for d in documents)
                if key not in contexts:
                    contexts[key] = search.index(document_sentences(documents))
                yield _unit({**base, "claim_label": label}, contexts[key], text)
        else:
            context = search.index(document_sentences(row["documents"]))
            for start, end in sentences(row["answer"]):
                yield _unit({**base, "start": start, "end": end}, context, row["answer"][start:end])


def held_units(rows: list[Row]) -> Iterator[Unit]:
    """Yield the labelled claims of the held-out training sources, on which the head is fitted."""
    for row in rows:
        faithful = row["labels"]["faithful"]
        if not is_held(row) or faithful is None:
            continue
        context = search.index(document_sentences(row["documents"]))
        base = {"set": "held", "row": row["id"], "group": group_of(row), "faithful": faithful}
        if row["dataset"].startswith("bump"):
            same = [r for r in rows if group_of(r) == group_of(row) and r["labels"]["faithful"]]
            for _, text, label, _ in summary_claims(row, same):
                yield _unit({**base, "claim_label": "supported" if label == 0 else "unsupported"}, context, text)
        else:
            yield _unit({**base, "claim_label": "supported" if faithful else "unsupported"}, context, row["answer"])


def _unit(base: Unit, context: search.Context, text: str) -> Unit:
    claim = clean_claim(text)
    chosen = search.choose(context, claim)
    features = [round(x, 4) for x in search.overlap_features(context, claim, chosen)]
    return {**base, "c": claim, "e": search.window(context, chosen), "x": features}


def main() -> None:
    """Write the claims of all sets; large sets are sampled by a fixed seed, by row or by claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    with args.out.open("w", encoding="utf-8") as out:
        for unit in held_units(training_rows(args.data)):
            out.write(json.dumps(unit, ensure_ascii=False) + "\n")
        for path in (*_ANSWERS, *_CLAIMS):
            name = Path(path).name.split(".")[0]
            rows = read_rows(args.data / path)
            if name == "bump":
                rows = [r for r in rows if is_held(r)]
            rows = [r for r in rows if r["labels"].get("faithful") is not None or r["labels"].get("claims")]
            rng, most = random.Random(3), _MOST.get(name, 10**6)
            if path in _CLAIMS:
                if name != "lfqa_verification":
                    rows = rng.sample(rows, min(len(rows), 110))
                made = list(units(name, rows))
                made = rng.sample(made, most) if name == "factscore" and len(made) > most else made
            else:
                made = list(units(name, rng.sample(rows, min(most, len(rows)))))
            for unit in made:
                out.write(json.dumps(unit, ensure_ascii=False) + "\n")
            print(name, len(made), flush=True)


if __name__ == "__main__":
    main()
