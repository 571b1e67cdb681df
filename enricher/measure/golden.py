"""The golden set: records with people's labels, one JSON object a line, kept under version control beside its baseline.

`{"id", "judge", "question", "documents": [{"id", "text"}], "answer", "label", "person", "comment", ...}`; what
`enricher export labels` writes is read too. `judge` is `diff` if it is not given; of `pairwise` a record has `answer_a`
and `answer_b`, and its label says how answer A fared: `win`, `tie` or `loss` (or `A`, `TIE`, `B`).
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enricher.compare.judging import pair_hash
from enricher.compare.loading import pair_of
from enricher.errors import SetupError
from enricher.measure.labels import label_of
from enricher.pipeline import input_hash
from enricher.records import item_of, read_lines
from enricher.steps.redaction import NOTHING, RedactionRules, redact_item
from enricher.steps.segmentation import split_item
from enricher.steps.validation import cleaned
from enricher.store import Question
from enricher.trace import Item, Pair


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldenItem:
    """One item of the golden set, ready to be judged."""

    id: str
    judge: str
    expected: str  # the label that people give it
    asked: Item | Pair
    comment: str = ""  # why, as people said

    @property
    def input_hash(self) -> str:
        """Digest what the judge sees: another text under the same id is another item."""
        return pair_hash(self.asked) if isinstance(self.asked, Pair) else input_hash(self.asked)

    @property
    def question(self) -> str:
        """Return what was asked."""
        item = self.asked.a if isinstance(self.asked, Pair) else self.asked
        return item.question or ""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldenSet:
    """A golden set as read."""

    path: Path
    items: tuple[GoldenItem, ...]

    def of(self, judge: str) -> tuple[GoldenItem, ...]:
        """Return the items that are labelled for a judge."""
        return tuple(item for item in self.items if item.judge == judge)

    def digest(self, judge: str) -> str:
        """Digest the items and labels of a judge, whatever their order."""
        rows = sorted((item.id, item.input_hash, item.expected) for item in self.of(judge))
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:32]


def read_golden(path: Path, redaction: RedactionRules = NOTHING) -> GoldenSet:
    """Read a golden set.

    Raises:
        SetupError: a line can't be read, an id is there twice, or there is nothing in it.
    """
    items: list[GoldenItem] = []
    seen: dict[tuple[str, str], int] = {}
    for number, line in read_lines(path):
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("it is no JSON object")
            item = _item(row, number, redaction)
            if (earlier := seen.setdefault((item.judge, item.id), number)) != number:
                raise ValueError(f"the id '{item.id}' is that of line {earlier}")
        except (ValueError, RecursionError) as error:
            raise SetupError(f"{path}, line {number}: {error}") from error
        items.append(item)
    if not items:
        raise SetupError(f"{path} holds no item; `enricher review add-to-golden ID` puts one in")
    return GoldenSet(path=path, items=tuple(items))


def add_to_golden(path: Path, question: Question) -> str:
    """Put what people decided about a question into a golden set; safe to repeat, a later decision replaces it.

    Returns:
        added, replaced or unchanged.

    Raises:
        SetupError: nobody has decided yet, the decision has no label, the texts are not kept, or the file can't be
            written.
    """
    row = golden_row(question)
    try:
        whole = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = whole.splitlines()
        mine, text = (row["judge"], row["id"]), json.dumps(row, ensure_ascii=False)
        place = next((at for at, line in enumerate(lines) if line.strip() and _key(json.loads(line)) == mine), None)
        if place is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as golden:  # others may add at the same time
                golden.write(("" if not whole or whole.endswith("\n") else "\n") + text + "\n")
            return "added"
        if json.loads(lines[place]) == row:
            return "unchanged"
        lines[place] = text
        _write(path, "".join(f"{line}\n" for line in lines))
    except (OSError, UnicodeError) as error:
        raise SetupError(f"{path} can't be written: {error}") from error
    except ValueError as error:
        raise SetupError(f"{path} is no golden set, a line is no JSON: {error}") from error
    return "replaced"


def golden_row(question: Question) -> dict[str, Any]:
    """Return what people decided about a question as a record of the golden set; the newest decision counts.

    Raises:
        SetupError: nobody has decided, the decision has no label, or the texts are not kept.
    """
    item, verdict = question.evaluation.item, question.evaluation.verdict
    name = question.review.id[:8]
    if not question.decisions:
        raise SetupError(f"nobody has decided {name} yet; `enricher review decide {name} ...` does")
    decision = question.decisions[-1]
    if not decision.label:
        raise SetupError(f"the decision on {name} has no label; decide again with --label")
    if item is None:
        raise SetupError(f"the texts of {name} are not kept any more, so that it can't be judged again")
    return {
        "id": f"{verdict.trace_id[:12]}-{question.evaluation.input_hash[:8]}",
        "judge": verdict.provenance.judge,
        "question": item.question,
        "documents": [{"id": d.id, "text": d.text} for d in item.documents],
        "answer": item.answer,
        "label": decision.label,
        "person": decision.person,
        "comment": decision.comment,
        "trace_id": verdict.trace_id,
        "span_id": verdict.span_id,
    }


def _item(row: Mapping[str, Any], number: int, redaction: RedactionRules) -> GoldenItem:
    judge, expected = label_of(row)
    asked: Item | Pair
    if judge == "pairwise":
        pair = pair_of(row, number, item_of, redaction)
        asked = Pair(id=pair.id, a=split_item(pair.a), b=split_item(pair.b))
        answers, documents = [pair.a.answer, pair.b.answer], pair.a.documents
    else:
        asked = split_item(redact_item(cleaned(item_of(row)), redaction))
        answers, documents = [asked.answer], asked.documents
    if not documents or not all(answer.strip() for answer in answers):
        raise ValueError("a golden item needs an answer and a document with text")
    return GoldenItem(
        id=_key(row)[1], judge=judge, expected=expected, asked=asked, comment=str(row.get("comment") or "")
    )


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return judge and id; a record without an id is known by its texts."""
    texts = [row.get(name) for name in ("question", "documents", "answer", "answer_a", "answer_b")]
    by_text = hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()[:16]
    return str(row.get("judge") or "diff"), str(row.get("id") or row.get("pair_id") or by_text)


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)  # whoever reads it sees the old or the new one
