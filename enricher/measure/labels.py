"""People's labels, whoever holds them: the review queue, the platforms, files; and the verdicts they are labels of."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from enricher.errors import SetupError
from enricher.records import read_lines
from enricher.steps.rendering import MAIN, NAMES, label
from enricher.store import PersonsDecision, Question
from enricher.store.calibrations import JudgedPlace
from enricher.trace import UserReport
from enricher.trust import Setting
from enricher.verdict import Order, PairwiseResult, Verdict

NO_CLAIMS = "no_claims"
SOMEONE = "someone"  # where the platform does not say who
_TOP = 1.0  # the score by which somebody who gives no label calls an answer sound
_ORDER = ("review", "platform", "file")  # of two labels by one person on one answer the first counts
# How answer A fared, in the words that people may use for it.
_PREFERENCES = {"a": "win", "b": "loss", "tie": "tie", "win": "win", "loss": "loss"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """What a judge said of an item, as far as labels are compared with it."""

    setting: Setting
    label: str | None  # None: it reached no verdict
    score: float | None = None
    input_hash: str | None = None
    version: str = ""  # of the judge, settings and second check included
    orders: tuple[Order, ...] = ()  # of a pair

    @classmethod
    def of(cls, verdict: Verdict, input_hash: str | None = None) -> "Judged":
        """Reduce a verdict."""
        result = verdict.result
        return cls(
            setting=Setting.of(verdict.provenance),
            label=label(verdict) if verdict.status.is_verdict else None,
            score=verdict.score,
            input_hash=input_hash,
            version=verdict.provenance.version,
            orders=result.orders if isinstance(result, PairwiseResult) else (),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonsLabel:
    """What one person says of one item."""

    judge: str  # whose question it answers
    item: str  # span id, or the id of a pair
    trace_id: str
    person: str
    label: str | None  # None: the person gave a score and no label
    is_sound: bool | None  # whether nothing is wrong; None where that is no question (pairs)
    source: str  # review, platform or file
    at: datetime | None = None
    input_hash: str | None = None  # of what the person saw, if that is known
    judged: Judged | None = None  # the verdict that stood beside it, where the label brings one along
    version: str = ""  # of the verdict that the person looked at, if that is known
    findings: tuple[tuple[str, bool], ...] = ()  # of that verdict: standing, and whether the person lets it stand


def allowed(judge: str) -> tuple[str, ...]:
    """Return the labels that a verdict of a judge can have, best first."""
    return NAMES[MAIN[judge]]


def is_sound(judge: str, said: str) -> bool | None:
    """Tell whether a label means that nothing is wrong; None for pairs."""
    return None if judge == "pairwise" else said in (allowed(judge)[0], NO_CLAIMS)


def from_review(questions: Iterable[Question]) -> Iterator[PersonsLabel]:
    """Yield the labels of the review queue; a decision without a label is none."""
    for question in questions:
        verdict = question.evaluation.verdict
        judge = verdict.provenance.judge
        for decision in question.decisions:
            if decision.label not in allowed(judge):
                continue
            yield PersonsLabel(
                judge=judge,
                item=verdict.span_id,
                trace_id=verdict.trace_id,
                person=decision.person,
                label=decision.label,
                is_sound=is_sound(judge, decision.label),
                source="review",
                at=decision.decided_at,
                input_hash=question.evaluation.input_hash,
                version=verdict.provenance.version,
                findings=tuple(_decided_findings(verdict, decision)),
            )


def _decided_findings(verdict: Verdict, decision: PersonsDecision) -> Iterator[tuple[str, bool]]:
    """Yield the findings about which the decision says something: all of them unless single ones were corrected."""
    for part in verdict.result.findings if verdict.result is not None else ():
        if decision.outcome == "confirm":
            yield str(part.standing), True
        elif decision.outcome == "reject":
            yield str(part.standing), False
        elif part.key in decision.labels:
            said = getattr(part, "alignment_status", None) or getattr(part, "verdict", None) or part.standing
            yield str(part.standing), str(said) == decision.labels[part.key]


def from_platform(place: JudgedPlace, said: Sequence[UserReport]) -> Iterator[PersonsLabel]:
    """Yield the labels that people gave on the platform; what is neither a known label nor a score is none."""
    for one in said:
        known = one.label if one.label in allowed(place.judge) else None
        if known is None and (one.label is not None or one.score is None):
            continue
        sound = is_sound(place.judge, known) if known is not None else (one.score or 0.0) >= _TOP
        yield PersonsLabel(
            judge=place.judge,
            item=place.span_id,
            trace_id=place.trace_id,
            person=one.author or SOMEONE,
            label=known,
            is_sound=sound,
            source="platform",
            at=one.reported_at,
        )


def from_file(path: Path) -> list[PersonsLabel]:
    """Read labels as `enricher export labels` writes them, one JSON object a line.

    Raises:
        SetupError: a line can't be read; the message says which and why.
    """
    found = []
    for number, line in read_lines(path):
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("it is no JSON object")
            found.append(_from_row(row))
        except (ValueError, RecursionError) as error:
            raise SetupError(f"{path}, line {number}: {error}") from error
    return found


def label_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the judge and the label of a record; of a pair the label says how answer A fared.

    Raises:
        ValueError: there is no such judge, or it has no such label.
    """
    judge = str(row.get("judge") or "diff")
    if judge not in MAIN:
        raise ValueError(f"judge: '{judge}' is not known; use one of {', '.join(MAIN)}")
    said = str(row.get("label") or "")
    said = _PREFERENCES.get(said.lower(), said) if judge == "pairwise" else said
    if said not in allowed(judge):
        raise ValueError(f"label: '{said}' is no label of {judge}; use one of {', '.join(allowed(judge))}")
    return judge, said


def distinct(labels: Iterable[PersonsLabel]) -> list[PersonsLabel]:
    """Keep one label of each person on each item: the newest of the first source that has one."""
    found: dict[tuple[str, str, str], PersonsLabel] = {}
    for one in labels:
        key = (one.judge, one.item, one.person)
        other = found.get(key)
        if other is None or _rank(one) >= _rank(other):
            found[key] = one
    return list(found.values())


def _rank(one: PersonsLabel) -> tuple[int, datetime]:
    return -_ORDER.index(one.source), one.at or datetime.min.replace(tzinfo=UTC)


def _from_row(row: Mapping[str, Any]) -> PersonsLabel:
    judge, said = label_of(row)
    item = row.get("pair_id") if judge == "pairwise" else row.get("span_id")
    if not isinstance(item, str) or not item:
        raise ValueError(f"{'pair_id' if judge == 'pairwise' else 'span_id'}: say which item was labelled")
    return PersonsLabel(
        judge=judge,
        item=item,
        trace_id=str(row.get("trace_id") or item),
        person=str(row.get("person") or SOMEONE),
        label=said,
        is_sound=is_sound(judge, said),
        source="file",
        at=_moment(row.get("decided_at")),
        judged=_judged(judge, row),
    )


def _judged(judge: str, row: Mapping[str, Any]) -> Judged | None:
    """Return the verdict that an exported label has beside it."""
    said, score = row.get("judge_label"), row.get("judge_score")
    if said not in allowed(judge):
        return None
    try:
        given = row.get("setting") or {"judge": judge, "engine": "unknown", "model": row.get("judge_version")}
        setting = Setting.model_validate(given)
    except ValidationError as error:
        raise ValueError(f"setting: it has no judge and engine: {error.errors()[0]['msg']}") from error
    return Judged(setting=setting, label=said, score=float(score) if isinstance(score, int | float) else None)


def _moment(text: object) -> datetime | None:
    if not isinstance(text, str) or not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
