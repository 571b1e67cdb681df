"""Adds what a trained model says to the claims of units.py; {"m": [supported, contradicted, peak, doubt]} in log odds.

PYTHONPATH=. python training/read_units.py UNITS.jsonl.gz MODEL_FOLDER OUT.jsonl.gz
"""

import gzip
import json
import sys
from pathlib import Path

from enricher.grounding.entailment import EntailmentModel


def main() -> None:
    """Read all pairs once, the same pair only once."""
    source, folder, target = (Path(a) for a in sys.argv[1:])
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        units = [json.loads(line) for line in lines]
    pairs = sorted({(c["e"], c["c"]) for u in units for c in u["claims"] if c["e"]})
    found = dict(zip(pairs, EntailmentModel(folder).read(pairs), strict=True))
    with gzip.open(target, "wt", encoding="utf-8") as out:
        for unit in units:
            for claim in unit["claims"]:
                reading = found.get((claim["e"], claim["c"]))
                claim["m"] = [round(x, 4) for x in reading] if reading else None
            out.write(json.dumps(unit, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
