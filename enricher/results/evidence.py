"""What all results are made of: passages, how far they are verified, and what a second judge says of a finding."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Noun(BaseModel):
    """A frozen value that refuses unknown fields; all nouns here can be stored as JSON and read back."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with some fields changed; as pydantic does, nothing is checked."""
        if deep:
            return super().model_copy(update=update, deep=True)
        # A verdict is copied a dozen times on its way, and the general copy takes ten times as long.
        changes = update or {}
        copied = type(self).__new__(type(self))
        object.__setattr__(copied, "__dict__", {**self.__dict__, **changes})
        object.__setattr__(copied, "__pydantic_fields_set__", self.__pydantic_fields_set__ | changes.keys())
        object.__setattr__(copied, "__pydantic_extra__", None)
        object.__setattr__(copied, "__pydantic_private__", None)
        return copied


class QuoteCheck(StrEnum):
    """Whether a quote occurs in its document."""

    UNCHECKED = "UNCHECKED"
    VERIFIED = "VERIFIED"
    MISATTRIBUTED = "MISATTRIBUTED"
    NOT_VERIFIED = "NOT_VERIFIED"


class Stance(StrEnum):
    """How a passage stands to the claim it is named for."""

    SUPPORTS = "SUPPORTS"
    CONTRADICTS = "CONTRADICTS"


class Quote(Noun):
    """A passage that a judge names as evidence; offsets count characters of the original document text."""

    document_id: str | None
    text: str
    start: int | None = None
    end: int | None = None
    check: QuoteCheck = QuoteCheck.UNCHECKED
    reason: str | None = None  # why it is not verified
    found_in: tuple[str, ...] = ()  # ids of the documents that do hold it
    occurrences: int = 0
    flags: tuple[str, ...] = ()
    span_id: str | None = None
    stance: Stance | None = None  # None where the status of the claim says it


class Standing(StrEnum):
    """How a statement stands to the context, in the words that all judges share."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    SOURCE_CONFLICT = "source_conflict"
    OMITTED = "omitted"


class Certainty(StrEnum):
    """What a second check made of a finding."""

    CONFIRMED = "confirmed"  # the second check sees it too
    DISPUTED = "disputed"  # it sees something else, without a passage that settles it
    REFUTED = "refuted"  # it holds a verbatim passage against the finding
    UNCONFIRMED = "unconfirmed"  # nothing checked it, or automatic confirmation is held


class Opinion(Noun):
    """What a second check says of a finding."""

    by: str  # the version of the checking judge
    standing: Standing
    agrees: bool
    evidence: tuple[Quote, ...] = ()
    explanation: str = ""
    score: float | None = None  # probability, 0 to 1, that the statement is supported


class Probabilities(Noun):
    """How likely people would call a statement each of the four labels; together 1."""

    supported: float
    partial: float
    unsupported: float
    contradicted: float


class Part(Noun):
    """One judged statement, whatever the judge calls it."""

    evidence: tuple[Quote, ...] = ()  # best first
    explanation: str = ""
    score: float | None = None  # probability, 0 to 1, that the statement is fully supported
    probabilities: Probabilities | None = None  # of each label, from an engine that is calibrated; `score` is the first
    trace_event_references: tuple[str, ...] = ()  # ids of the spans that hold the evidence and the answer
    flags: tuple[str, ...] = ()
    certainty: Certainty | None = None  # of findings, once a second check has looked at them
    opinions: tuple[Opinion, ...] = ()

    @property
    def key(self) -> str:
        """Identify the statement within its result."""
        raise NotImplementedError

    @property
    def statement(self) -> str:
        """Return what was said; for an omission, what should have been."""
        raise NotImplementedError

    @property
    def standing(self) -> Standing:
        """Return how it stands to the context."""
        raise NotImplementedError

    @property
    def is_finding(self) -> bool:
        """Tell whether a person should look at it."""
        return self.standing is not Standing.SUPPORTED

    @property
    def verified(self) -> tuple[Quote, ...]:
        """Return the evidence that stands where it is said to stand."""
        return tuple(quote for quote in self.evidence if quote.check is QuoteCheck.VERIFIED)


class CitationIssue(StrEnum):
    """What is wrong with a citation of the answer."""

    MISCITATION = "MISCITATION"  # the named document does not say it, another one may
    MISSING_CITATION = "MISSING_CITATION"  # a statement without one, in an answer that cites
    IRRELEVANT_CITATION = "IRRELEVANT_CITATION"  # the named document has nothing to do with it, or does not exist


class Citation(Noun):
    """A citation marker of an answer, resolved to the documents as the model saw them; or a missing one."""

    marker: str  # as written; empty when it is missing
    start: int | None = None  # offsets of the marker in the answer
    end: int | None = None
    statement: str = ""  # the sentence or claim that it is given for
    document_ids: tuple[str, ...] = ()  # what it resolves to; empty when dangling
    issue: CitationIssue | None = None  # None: the documents bear it out
    supported_by: tuple[str, ...] = ()  # documents that do say it
    explanation: str = ""
    flags: tuple[str, ...] = ()  # dangling


_QUOTED = 120  # characters of a passage that a summary repeats


def shortened(text: str, limit: int = _QUOTED) -> str:
    """Return a text in one line, cut at a word when it is long."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rsplit(" ", 1)[0] + "…"


class Judged(Noun):
    """What every result offers to those who need not know which judge it is from."""

    summary: str = ""  # one plain sentence that names the worst finding

    @property
    def score(self) -> float | None:
        """Compute the score from the labels; None where the judge has none or nothing was checkable."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Return the word people filter by."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the judged statements."""
        return ()

    @property
    def findings(self) -> tuple[Part, ...]:
        """Return the statements that people should look at, the most dangerous first."""
        order = list(_DANGER)
        return tuple(sorted((part for part in self.parts if part.is_finding), key=lambda p: order.index(p.standing)))

    @property
    def worst(self) -> Part | None:
        """Return the most dangerous finding."""
        return next(iter(self.findings), None)

    def with_parts(self, parts: Sequence[Part]) -> Self:
        """Return the result with the same statements, checked or amended, and the summary that follows from them."""
        raise NotImplementedError


_DANGER = (
    Standing.CONTRADICTED,
    Standing.SOURCE_CONFLICT,
    Standing.UNSUPPORTED,
    Standing.PARTIAL,
    Standing.OMITTED,
    Standing.SUPPORTED,
)
