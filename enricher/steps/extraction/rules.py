"""The table of framework families, in the order in which they are asked about a span."""

from enricher.steps.extraction.crewai import CrewAI
from enricher.steps.extraction.family import Family
from enricher.steps.extraction.genai import GenAI
from enricher.steps.extraction.google_adk import GoogleADK
from enricher.steps.extraction.langfuse import Langfuse
from enricher.steps.extraction.mlflow import MLflow
from enricher.steps.extraction.native import Native
from enricher.steps.extraction.openinference import OpenInference
from enricher.steps.extraction.traceloop import Traceloop
from enricher.steps.extraction.vercel import Vercel
from enricher.trace import Span

_NATIVE = Native()
_GENAI = GenAI()
# OpenInference first: where a processor translated another convention, it wrote the clearer account.
FAMILIES: tuple[Family, ...] = (
    OpenInference(),
    Traceloop(),
    Vercel(),
    MLflow(),
    Langfuse(),
    _GENAI,
    GoogleADK(),
    CrewAI(),
)
_BY_PREFIX = {prefix: family for family in FAMILIES for prefix in family.prefixes}


def families_of(span: Span) -> tuple[Family, ...]:
    """Return the families that have something to say about the span, in the order of the table."""
    prefixes = {key.partition(".")[0] for key in span.attributes}
    present = {_BY_PREFIX[prefix] for prefix in prefixes if prefix in _BY_PREFIX}
    found = tuple(family for family in FAMILIES if family in present) if len(present) > 1 else tuple(present)
    if span.events and _GENAI not in found:  # a vector store's results can be events on a span without attributes
        found = (*found, _GENAI)
    return (_NATIVE, *found) if span.inputs is not None or span.outputs is not None else found
