"""The result of the pairwise judge: which of two answers from the same context is better."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self, cast

from enricher.results.evidence import Certainty, Citation, Judged, Noun, Part, Standing, shortened

Side = Literal["A", "B"]
_SIDES: tuple[Side, Side] = ("A", "B")


class Preference(StrEnum):
    """Which answer is better."""

    A = "A"
    B = "B"
    TIE = "TIE"


class Severity(StrEnum):
    """How much harm an invented statement can do."""

    CRITICAL = "CRITICAL"
    MAJOR = "MAJOR"
    MINOR = "MINOR"


class Dimension(Noun):
    """Who is better in one respect, and why."""

    name: str  # faithfulness, citation_accuracy, completeness, source_conflict_handling, or one of the config
    winner: Preference
    justification: str = ""


class Hallucination(Part):
    """A statement of one answer that its context does not bear out."""

    flag_id: str  # "A1"
    answer: Side
    claim: str
    severity: Severity
    reported_standing: Standing = Standing.UNSUPPORTED
    start: int | None = None  # offsets into that answer, where the words were found
    end: int | None = None

    @property
    def key(self) -> str:
        """Identify the flag within its result."""
        return self.flag_id

    @property
    def statement(self) -> str:
        """Return what the answer says."""
        return self.claim

    @property
    def standing(self) -> Standing:
        """Return how it stands to the documents."""
        return self.reported_standing

    @property
    def counts(self) -> bool:
        """Tell whether it is held against the answer: the engine found it itself, or sees it too."""
        return self.certainty in (None, Certainty.CONFIRMED)


class CitationError(Noun):
    """A wrong or missing citation of one answer."""

    answer: Side
    citation: Citation
    is_confirmed: bool = False  # the engine resolved the marker and sees it too


class Order(Noun):
    """What was said when the answers stood in one order; everything is mapped back to A and B."""

    first: Side  # the answer that was shown first
    preferred: Preference
    confidence: float | None = None


class PairwiseResult(Judged):
    """Which answer is better, on which grounds."""

    kind: Literal["pairwise"] = "pairwise"
    preferred: Preference
    confidence: float | None = None  # 0 to 1
    dimensions: tuple[Dimension, ...] = ()
    hallucinations: tuple[Hallucination, ...] = ()
    citation_errors: tuple[CitationError, ...] = ()
    orders: tuple[Order, ...] = ()  # in which it was judged; empty when no judging was needed
    seed: int | None = None  # from the id of the pair; chose the order that came first

    @property
    def has_position_bias(self) -> bool:
        """Tell whether the two orders disagree."""
        return len({order.preferred for order in self.orders}) > 1

    @property
    def score(self) -> float | None:
        """Return 1 when A is preferred, 0 when B is, 0.5 for a tie: how answer A fared."""
        return {Preference.A: 1.0, Preference.B: 0.0, Preference.TIE: 0.5}[self.preferred]

    @property
    def label(self) -> str:
        """Return win, loss or tie: how answer A fared."""
        return {Preference.A: "win", Preference.B: "loss", Preference.TIE: "tie"}[self.preferred]

    @property
    def parts(self) -> tuple[Hallucination, ...]:
        """Return the flagged statements."""
        return self.hallucinations

    def with_parts(self, parts: Sequence[Part]) -> Self:
        """Return the result with these flags."""
        changed = self.model_copy(update={"hallucinations": cast(tuple[Hallucination, ...], tuple(parts))})
        return changed.model_copy(update={"summary": preference_summary(changed)})

    def held_against(self, side: Side) -> tuple[Hallucination, ...]:
        """Return the flags that count against one answer, the worst first."""
        order = list(Severity)
        found = [flag for flag in self.hallucinations if flag.answer == side and flag.counts]
        return tuple(sorted(found, key=lambda flag: order.index(flag.severity)))


def other(side: Side) -> Side:
    """Return the other answer."""
    return "B" if side == "A" else "A"


def preference_summary(result: PairwiseResult, a: str = "answer A", b: str = "answer B") -> str:
    """Say in one plain sentence which answer is better, and why; the answers are called as given."""
    if result.has_position_bias:
        return "The two orders disagree, so that neither answer counts as better."
    names: dict[Side, str] = {"A": a, "B": b}
    if result.preferred is Preference.TIE:
        reason = next((d.justification for d in result.dimensions if d.justification), "")
        return "Neither answer is better." + (f" {_told(reason, names)}" if reason else "")
    winner: Side = "A" if result.preferred is Preference.A else "B"
    loser = other(winner)
    won = [d for d in result.dimensions if d.winner is result.preferred]
    said = f"{_capital(names[winner])} is better"
    said += f" in {', '.join(d.name.replace('_', ' ') for d in won)}" if won else ""
    if flags := result.held_against(loser):
        return f"{said}: {names[loser]} says '{shortened(flags[0].claim)}', which the documents do not bear out."
    reason = next((d.justification for d in won if d.justification), "")
    return f"{said}: {_told(reason, names)}" if reason else f"{said}."


def _told(reason: str, names: dict[Side, str]) -> str:
    for side in _SIDES:
        reason = reason.replace(f"answer {side}", names[side]).replace(f"Answer {side}", _capital(names[side]))
    return shortened(reason)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
