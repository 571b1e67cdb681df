"""Read what a model says of two answers in the order in which it saw them, and map it back to the answers."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar, cast

from enricher.folding import Haystack
from enricher.judges.pairs import CITATIONS
from enricher.judges.reply import Unusable, is_no_verdict, label, one_text, shown
from enricher.results.pairwise import CitationError
from enricher.trace import Pair
from enricher.verdict import (
    Citation,
    CitationIssue,
    Dimension,
    Hallucination,
    Preference,
    Severity,
    Side,
    Status,
)

E = TypeVar("E", bound=StrEnum)

KEYS = ("preferred_answer", "dimension_verdicts")
NOT_IN_ANSWER = "not_in_answer"
INCONSISTENT = "dimensions_inconsistent"
_BY_LETTER = re.compile(r"\b((?:answers?|responses?)\s+[\"'“*]?)([AB])\b", re.I)
_MOST = 100  # flags or errors of one reply; more is a model that runs in a circle


@dataclass(frozen=True, kw_only=True)
class PairReading:
    """What one reply says, mapped back: A and B are the answers of the pair, whichever was shown first."""

    first: Side
    preferred: Preference
    confidence: float
    dimensions: tuple[Dimension, ...]
    hallucinations: tuple[Hallucination, ...] = ()
    citation_errors: tuple[CitationError, ...] = ()
    justification: str = ""
    flags: tuple[str, ...] = ()


class _Refused(Exception):
    def __init__(self, problem: str, status: Status = Status.JUDGE_INVALID) -> None:
        super().__init__(problem)
        self.status = status


def reader(pair: Pair, first: Side, dimensions: Sequence[str]) -> Callable[[Mapping[str, Any]], PairReading | Unusable]:
    """Return what reads the object of a reply to the pair in this order."""

    def read(value: Mapping[str, Any]) -> PairReading | Unusable:
        try:
            return _Reply(value, pair, first, tuple(dimensions)).read()
        except _Refused as refused:
            return Unusable(status=refused.status, problem=str(refused))

    return read


class _Reply:
    def __init__(self, value: Mapping[str, Any], pair: Pair, first: Side, dimensions: tuple[str, ...]) -> None:
        self._value = value
        self._pair = pair
        self._first = first
        self._dimensions = dimensions

    @cached_property
    def _answers(self) -> dict[Side, Haystack]:
        return {"A": Haystack(self._pair.a.answer), "B": Haystack(self._pair.b.answer)}

    def read(self) -> PairReading:
        preferred = self._preference(self._value.get("preferred_answer"), "preferred_answer")
        dimensions = self._all_dimensions()
        winners = {dimension.winner for dimension in dimensions}
        opposite = {Preference.A: Preference.B, Preference.B: Preference.A}.get(preferred)
        if opposite is not None and winners == {opposite}:
            raise _Refused("preferred_answer is one answer while every dimension goes to the other")
        # Preferred without being better in any dimension, or better in all of them and not preferred.
        is_odd = preferred not in winners and (opposite is not None or len(winners) == 1)
        return PairReading(
            first=self._first,
            preferred=preferred,
            confidence=self._confidence(),
            dimensions=dimensions,
            hallucinations=self._hallucinations(),
            citation_errors=self._citation_errors() if CITATIONS in self._dimensions else (),
            justification=self._named_back(one_text(self._value.get("overall_justification"))),
            flags=(INCONSISTENT,) if is_odd else (),
        )

    # the verdict

    def _preference(self, value: Any, where: str) -> Preference:
        found = label(value, Preference)
        if found is None:
            if is_no_verdict(value):
                raise _Refused(f"{where} is missing; say A, B or TIE", Status.JUDGE_INCOMPLETE)
            raise _Refused(f"{where} is {shown(value)}; say A, B or TIE")
        if found is Preference.TIE or self._first == "A":
            return found
        return Preference.B if found is Preference.A else Preference.A

    def _confidence(self) -> float:
        value = self._value.get("confidence")
        if isinstance(value, str):
            try:
                value = float(value.strip())
            except ValueError:
                value = None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            given = shown(self._value.get("confidence"))
            raise _Refused(f"confidence is {given}; say a number from 0 to 1", Status.JUDGE_PARSE_ERROR)
        return float(value)

    def _all_dimensions(self) -> tuple[Dimension, ...]:
        given = self._value.get("dimension_verdicts")
        if not isinstance(given, Mapping):
            raise _Refused("dimension_verdicts is no object with one entry a dimension", Status.JUDGE_PARSE_ERROR)
        missing = [name for name in self._dimensions if not isinstance(given.get(name), Mapping)]
        if missing:
            raise _Refused(f"dimension_verdicts lacks {', '.join(missing)}", Status.JUDGE_INCOMPLETE)
        return tuple(
            Dimension(
                name=name,
                winner=self._preference(given[name].get("winner"), f"the winner of {name}"),
                justification=self._named_back(one_text(given[name].get("justification"))),
            )
            for name in self._dimensions
        )

    def _named_back(self, text: str) -> str:
        """Let a sentence call the answers by their own letters instead of by their places."""
        if self._first == "A":
            return text
        return _BY_LETTER.sub(lambda found: found[1] + ("B" if found[2] == "A" else "A"), text)

    # what is held against the answers

    def _hallucinations(self) -> tuple[Hallucination, ...]:
        found = []
        for number, entry in self._entries("hallucination_flags"):
            side = self._side(entry, f"hallucination_flags {number}")
            claim = self._claim(entry, f"hallucination_flags {number}")
            severity = self._label(entry.get("severity"), Severity, f"the severity of hallucination_flags {number}")
            place = self._answers[side].find(claim)
            found.append(
                Hallucination(
                    flag_id=f"{side}{number}",
                    answer=side,
                    claim=claim,
                    severity=severity,
                    start=place.start if place else None,
                    end=place.end if place else None,
                    flags=() if place else (NOT_IN_ANSWER,),
                )
            )
        return tuple(found)

    def _citation_errors(self) -> tuple[CitationError, ...]:
        found = []
        for number, entry in self._entries("citation_errors"):
            where = f"citation_errors {number}"
            side = self._side(entry, where)
            issue = self._label(entry.get("error_type"), CitationIssue, f"the error_type of {where}")
            marker = one_text(entry.get("cited_source"), 200)
            if not marker and issue is not CitationIssue.MISSING_CITATION:
                raise _Refused(f"{where} does not name the marker that is wrong")
            if issue is CitationIssue.MISSING_CITATION:
                marker = ""
            place = self._answers[side].find(marker) if marker else None
            citation = Citation(
                marker=marker,
                start=place.start if place else None,
                end=place.end if place else None,
                statement=self._claim(entry, where),
                issue=issue,
            )
            found.append(CitationError(answer=side, citation=citation))
        return tuple(found)

    def _entries(self, name: str) -> list[tuple[int, Mapping[str, Any]]]:
        given = self._value.get(name)
        if name not in self._value:
            raise _Refused(f"{name} is missing; it is [] if there is none", Status.JUDGE_INCOMPLETE)
        if given is None:
            return []
        if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
            raise _Refused(f"{name} is no list of objects", Status.JUDGE_PARSE_ERROR)
        if len(given) > _MOST:
            raise _Refused(f"{name} has {len(given)} entries; name the {_MOST} that matter most")
        return list(enumerate(given, 1))

    def _side(self, entry: Mapping[str, Any], where: str) -> Side:
        named = label(entry.get("answer"), Preference)
        if named not in (Preference.A, Preference.B):
            raise _Refused(f"the answer of {where} is {shown(entry.get('answer'))}; say A or B")
        return cast(Side, str(self._preference(named, where)))

    def _claim(self, entry: Mapping[str, Any], where: str) -> str:
        claim = one_text(entry.get("claim"))
        if not claim:
            raise _Refused(f"{where} has no claim; give the words of the answer")
        return claim

    def _label(self, value: Any, labels: type[E], where: str) -> E:
        found = label(value, labels)
        if found is None:
            raise _Refused(f"{where} is {shown(value)}; say {', '.join(labels)}")
        return found
