"""Which traces a job looks at, and what happens to their verdicts."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from enricher.settings.values import Duration, Section, Share
from enricher.trace import SpanKind

RiskLevel = Literal["normal", "high"]


class ReportRule(Section):
    """Which user reports choose a trace: all given conditions must hold."""

    name: str  # annotation name or feedback key; without it other evaluators' scores would count as reports
    labels: tuple[str, ...] = ()
    max_score: float | None = None


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


class SpanRule(Section):
    """A trace counts when one of its spans meets all given conditions."""

    kind: Annotated[SpanKind | None, BeforeValidator(_upper)] = None
    name: str | None = None
    status: Literal["OK", "ERROR", "UNSET"] | None = None
    attributes: dict[str, Any] = Field(default_factory=dict)
    min_latency: Duration | None = None
    tag: str | None = None
    filter: str | None = None


class Policy(Section):
    """What happens to a verdict."""

    route: Literal["write", "review", "both"] = "write"
    review_below: Share | None = None  # None: 0.9 when the risk level is high, else never
    review_failures: bool = True


class Rule(Section):
    """One reason to look at a trace."""

    name: str
    reports: tuple[ReportRule, ...] = ()
    where: SpanRule = SpanRule()
    rate: Share = 1.0
    max_per_stratum: int | None = Field(default=None, ge=1)
    stratum: str | None = None
    policy: Policy | None = None  # None: that of the job


DEFAULT_RULES = (
    Rule(
        name="reported",
        reports=(
            ReportRule(name="user_feedback", labels=("thumbs-down",)),
            ReportRule(name="user_feedback", max_score=0),
        ),
    ),
    Rule(name="sampled", rate=0.1),
)


class Paths(Section):
    """Where a home-made trace shape keeps its parts; each given path overrides the extraction rules."""

    question: str | None = None
    answer: str | None = None
    documents: str | None = None
    document_text: str | None = None
    document_id: str | None = None
    documents_span: str | None = None  # name of the span that holds the documents
