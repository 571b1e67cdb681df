"""The result of the diff judge: where the answer leaves its context."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Self, cast

from enricher.printing import number_of
from enricher.results.evidence import Citation, Judged, Noun, Part, QuoteCheck, Standing, shortened


class AlignmentStatus(StrEnum):
    """How a stretch of the answer stands to the context."""

    FULLY_SUPPORTED = "FULLY_SUPPORTED"
    PARTIALLY_SUPPORTED = "PARTIALLY_SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"
    CONTRADICTED = "CONTRADICTED"


class IssueType(StrEnum):
    """What is wrong with a stretch of the answer."""

    ADDED = "ADDED"
    OMITTED = "OMITTED"
    DISTORTED = "DISTORTED"
    CONTRADICTED = "CONTRADICTED"
    NONE = "NONE"


class Stretch(Noun):
    """Some words of the answer; offsets count its characters."""

    start: int
    end: int


class Segment(Part):
    """One stretch of the answer with its status, or (without `generated_text`) something the answer left out."""

    segment_id: str
    start: int | None = None  # offsets into the answer
    end: int | None = None
    generated_text: str | None
    alignment_status: AlignmentStatus
    issue_type: IssueType
    lacking: tuple[Stretch, ...] = ()  # its words that depart from the context, in order; none: all of them, or unknown

    @property
    def is_omission(self) -> bool:
        """Tell whether this is something the answer left out; such entries are not in the denominator."""
        return self.generated_text is None

    @property
    def narrowed(self) -> Stretch | None:
        """Return the longest stretch that departs; None where that is not told apart from the rest."""
        return max(self.lacking, key=lambda part: part.end - part.start, default=None)

    @property
    def key(self) -> str:
        """Identify the segment within its result."""
        return self.segment_id

    @property
    def statement(self) -> str:
        """Return the stretch of the answer; for an omission, the passage that was left out."""
        if self.generated_text is not None:
            return self.generated_text
        return self.evidence[0].text if self.evidence else self.explanation

    @property
    def standing(self) -> Standing:
        """Return how it stands to the context."""
        return Standing.OMITTED if self.is_omission else _STANDINGS[self.alignment_status]


_STANDINGS = {
    AlignmentStatus.FULLY_SUPPORTED: Standing.SUPPORTED,
    AlignmentStatus.PARTIALLY_SUPPORTED: Standing.PARTIAL,
    AlignmentStatus.UNSUPPORTED: Standing.UNSUPPORTED,
    AlignmentStatus.CONTRADICTED: Standing.CONTRADICTED,
}
_LABELS = {
    AlignmentStatus.FULLY_SUPPORTED: "faithful",
    AlignmentStatus.PARTIALLY_SUPPORTED: "partial",
    AlignmentStatus.UNSUPPORTED: "unsupported",
    AlignmentStatus.CONTRADICTED: "contradicted",
}


class DiffResult(Judged):
    """Where the answer leaves its context."""

    kind: Literal["diff"] = "diff"
    segments: tuple[Segment, ...]
    faithful_probability: float | None = None  # that the whole answer is faithful, if the engine knows one
    judge_score: float | None = None  # what the judge itself stated; recorded, never written
    citations: tuple[Citation, ...] = ()

    @property
    def score(self) -> float | None:
        """Compute fully supported / checkable generated segments; None when nothing is checkable."""
        return supported_share(self.segments)

    @property
    def label(self) -> str:
        """Return the worst status among the generated segments."""
        statuses = [s.alignment_status for s in self.segments if not s.is_omission]
        if not statuses:
            return "no_claims"
        return _LABELS[max(statuses, key=list(_LABELS).index)]

    @property
    def parts(self) -> tuple[Segment, ...]:
        """Return the segments."""
        return self.segments

    def with_parts(self, parts: Sequence[Part]) -> Self:
        """Return the result with these segments."""
        segments = cast(tuple[Segment, ...], tuple(parts))
        return self.model_copy(update={"segments": segments, "summary": summary_of(segments)})


def supported_share(segments: Sequence[Segment]) -> float | None:
    """Return the share of generated segments that are fully supported; None when there are none."""
    generated = [s for s in segments if not s.is_omission]
    if not generated:
        return None
    return sum(s.alignment_status is AlignmentStatus.FULLY_SUPPORTED for s in generated) / len(generated)


_FINDINGS = {
    AlignmentStatus.CONTRADICTED: "contradicted",
    AlignmentStatus.UNSUPPORTED: "unsupported",
    AlignmentStatus.PARTIALLY_SUPPORTED: "only partly supported",
}


def summary_of(segments: Sequence[Segment]) -> str:
    """Say in one plain sentence how an answer stands to its context: the worst finding, with what both sides say."""
    generated = [segment for segment in segments if not segment.is_omission]
    if not generated:
        return f"Nothing in the answer can be checked against the context.{_left_out(segments)}"
    for status, word in _FINDINGS.items():
        found = [segment for segment in generated if segment.alignment_status is status]
        if found:
            return f"{len(found)} of {_counted(generated)} {word}: {_detail(found[0])}"
    all_of_them = f"All {_counted(generated)} are" if len(generated) > 1 else "The one segment is"
    return f"{all_of_them} supported by the context.{_left_out(segments)}"


def _detail(segment: Segment) -> str:
    # Of a contradiction people want to see both sides, which a model's explanation may not quote.
    is_contradicted = segment.alignment_status is AlignmentStatus.CONTRADICTED
    if segment.explanation and (not is_contradicted or segment.explanation.startswith("answer says ")):
        return shortened(segment.explanation)
    passage = next((quote for quote in segment.evidence if quote.check is QuoteCheck.VERIFIED), None)
    beside = f", {passage.document_id} says '{shortened(passage.text)}'" if passage else ""
    return f"answer says '{shortened(segment.generated_text or '')}'{beside}"


def _left_out(segments: Sequence[Segment]) -> str:
    omission = next((segment for segment in segments if segment.is_omission), None)
    if omission is None:
        return ""
    return f" It leaves out: '{shortened(omission.evidence[0].text if omission.evidence else omission.explanation)}'."


def _counted(segments: Sequence[Segment]) -> str:
    return number_of(len(segments), "segment")
