"""Reads the human-labelled judge data: rows, sentences, documents and the folds that keep a source on one side."""

import difflib
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from windows import pieces

Row = dict[str, Any]
SUPPORTED, NOT_SUPPORTED = 0, -1
HELD_OUT_FOLD = 0
_FILES = ("attributionbench.jsonl.gz", "begin.jsonl", "faithdial_audit.jsonl.gz", "bump.jsonl.gz")

_ABBREVIATION = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Gen|Sen|Rep|Gov|Lt|Col|Capt|No|vs|Inc|Ltd|Co|Corp|U\.S|U\.K|e\.g|i\.e|etc|approx|[A-Z])\.$"
)
_BOUNDARY = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9a-z])|\n+\s*|(?<=[。！？])")
_REFERENCE = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")


def read_rows(path: Path) -> list[Row]:
    """Read a JSON Lines file, plain or gzip; premise and hypothesis rows come back as answer rows."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [_as_answer_row(json.loads(line)) for line in lines if line.strip()]


def sentences(text: str) -> list[tuple[int, int]]:
    """Cut text into sentences and lines; return their character ranges, without surrounding white space."""
    cuts, start = [], 0
    for boundary in _BOUNDARY.finditer(text):
        if "\n" not in boundary.group() and _ABBREVIATION.search(text[start : boundary.start()].rstrip("\"'”’)]")):
            continue
        cuts.append((start, boundary.start() if "\n" in boundary.group() else boundary.end()))
        start = boundary.end()
    cuts.append((start, len(text)))
    trimmed = (_trim(text, *cut) for cut in cuts)
    return [(a, b) for a, b in trimmed if any(c.isalnum() for c in text[a:b])]


def document_sentences(documents: Iterable[Row]) -> list[str]:
    """Return the sentences of all documents in order; long ones are cut so that evidence windows stay short."""
    found = []
    for document in documents:
        text = document["text"]
        for start, end in sentences(text):
            found.extend(pieces(text[start:end]))
    return found


def clean_claim(text: str) -> str:
    """Remove citation marks such as [3] and list bullets, which are no part of what is claimed."""
    return re.sub(r"^[\s*•\-–#>]+", "", re.sub(r"\s+", " ", _REFERENCE.sub("", text))).strip()


def fold(group: str, folds: int = 5) -> int:
    """Assign a source to a fold, the same on every machine."""
    return int(hashlib.sha256(group.encode()).hexdigest(), 16) % folds


def group_of(row: Row) -> str:
    """Name the source behind a row."""
    return str(row.get("group") or row.get("q_id") or row["id"])


def claims_of(row: Row) -> Iterator[tuple[str, str, list[Row]]]:
    """Yield (text, label, documents) of every labelled claim; a claim that names its documents gets only those."""
    for claim in row["labels"].get("claims") or []:
        if claim.get("label") is not None:
            wanted = claim.get("docs")
            documents = [d for d in row["documents"] if not wanted or d["id"] in wanted]
            yield claim["text"], claim["label"], documents


def is_held(row: Row) -> bool:
    """Tell whether the source of a row is kept out of training, for the head and for measuring."""
    return fold(group_of(row)) == HELD_OUT_FOLD


def training_rows(data: Path) -> list[Row]:
    """Read the rows that may be trained on and share nothing with a dev set."""
    rows = [row for name in _FILES for row in read_rows(data / "train" / name)]
    return [r for r in rows if r.get("overlaps_dev") is None and r["documents"] and not r["measure_only"]]


def summary_claims(row: Row, references: Sequence[Row]) -> Iterator[tuple[Row, str, int, list[tuple[int, int]]]]:
    """Cut a summary into sentences; in an edited one only the sentence that no reference holds is wrong."""
    parts = [row["answer"][a:b] for a, b in sentences(row["answer"])]
    if row["labels"]["faithful"]:
        yield from ((row, part, SUPPORTED, []) for part in parts)
        return
    known = [r["answer"][a:b] for r in references for a, b in sentences(r["answer"])]
    for part in parts:
        if part in known or not known:
            continue
        nearest = max(known, key=lambda k: difflib.SequenceMatcher(None, k, part).ratio())
        yield row, part, NOT_SUPPORTED, _changed(nearest, part)


def _changed(old: str, new: str) -> list[tuple[int, int]]:
    """Return the ranges of `new` that differ from `old`, by words; a deletion marks the word after it."""
    places = [(m.start(), m.end()) for m in re.finditer(r"\S+", new)]
    matcher = difflib.SequenceMatcher(None, old.split(), new.split(), autojunk=False)
    found = []
    for tag, _, _, start, end in matcher.get_opcodes():
        if tag != "equal" and places:
            last = min(max(end, start + 1), len(places)) - 1
            found.append((places[min(start, len(places) - 1)][0], places[last][1]))
    return found if sum(b - a for a, b in found) < 0.6 * len(new) else []


def _as_answer_row(row: Row) -> Row:
    if "premise" not in row:
        return row
    label = {"entailment": "supported", "contradiction": "contradicted", "partial": "partial"}
    status = label.get(row["label"], "unsupported")
    return {
        **row,
        "documents": [{"id": "d1", "text": row["premise"]}],
        "answer": row["hypothesis"],
        "labels": {"faithful": status == "supported", "claims": [{"text": row["hypothesis"], "label": status}]},
    }


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
