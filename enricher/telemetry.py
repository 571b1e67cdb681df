"""The product's own OpenTelemetry: a span for each judgement and each question to a model, and figures of runs.

Spans follow OpenInference, so that Phoenix and others show them; they go to a project of their own and hold no text of
a trace unless the config asks for it. The packages are imported only when an endpoint is configured.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from enricher.errors import SetupError
from enricher.seams import ModelCall
from enricher.settings import Telemetry as Section
from enricher.trace import Item
from enricher.verdict import Provenance, Verdict, kinds_of_findings

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

_KIND = "openinference.span.kind"
_SCORE_BOUNDS = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
_SECONDS_BOUNDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]


class Telemetry:
    """Sends spans and figures in the background; what can't be sent is logged by the SDK and lost, never waited for."""

    def __init__(self, section: Section, *, version: str) -> None:
        """Connect nothing yet.

        Raises:
            SetupError: no endpoint is named, or the packages are missing.
        """
        if section.endpoint is None:
            raise SetupError("telemetry.endpoint: name where the spans go")
        self._texts = section.texts
        self._tracers, self._meters = _providers(section, version)
        self._tracer: Tracer | None = self._tracers.get_tracer("trace-enricher", version) if self._tracers else None
        self._figures = _Figures(self._meters.get_meter("trace-enricher", version)) if self._meters else None

    @contextmanager
    def judging(self, item: Item, provenance: Provenance) -> Iterator[Callable[[Verdict], None]]:
        """Watch one judgement, and what is asked of models for it."""
        if self._tracer is None:
            yield self._count
            return
        name = f"judge {provenance.judge}"
        with self._tracer.start_as_current_span(name, attributes=_of_item(item, provenance)) as span:

            def tell(verdict: Verdict) -> None:
                self._count(verdict)
                span.set_attributes(_of_verdict(verdict))
                if self._texts:
                    span.set_attributes(_said_of(item, verdict))
                _end_well(span, verdict.failure if not verdict.status.is_verdict else None, str(verdict.status))

            yield tell

    def called(self, call: ModelCall) -> None:
        """Record a question to a model with the time that it took."""
        if self._figures is not None:
            self._figures.call(call)
        if self._tracer is None:
            return
        now = time.time_ns()
        span = self._tracer.start_span(
            f"ask {call.model}", start_time=now - int(call.usage.latency_s * 1e9), attributes=_of_call(call)
        )
        if self._texts:
            span.set_attributes(_said_in(call))
        _end_well(span, call.failure, call.finish_reason or "answered")
        span.end(end_time=now)

    def ran(self, job: str, figures: Mapping[str, Any], gauges: Mapping[str, float]) -> None:
        """Record what a run has counted, and how the queues stand after it."""
        if self._figures is not None:
            self._figures.run(job, figures, gauges)

    async def aclose(self) -> None:
        """Send what is left, and wait for it no longer than the exporters do."""
        for provider in (self._tracers, self._meters):
            if provider is not None:
                await asyncio.to_thread(provider.shutdown)

    def _count(self, verdict: Verdict) -> None:
        if self._figures is not None:
            self._figures.verdict(verdict)


class _Figures:
    """The instruments; the names are those of the Prometheus endpoint."""

    def __init__(self, meter: "Meter") -> None:
        def counter(name: str, about: str) -> Any:
            return meter.create_counter(f"enricher_{name}", description=about)

        self._pulled = counter("traces_pulled", "Traces read from the platform.")
        self._rejected = counter("rejected", "Traces and items that were not judged, by reason.")
        self._judged = counter("judged", "Verdicts by judge and status; failures are no verdicts.")
        self._findings = counter("findings", "Findings by issue type.")
        self._checked = counter("second_check", "Opinions of the second check: agrees or disagrees.")
        self._tokens = counter("tokens", "Tokens of models, by kind.")
        self._calls = counter("model_calls", "Calls to models.")
        self._cost = counter("cost", "Money spent on models.")
        self._annotations = counter("annotations", "Write-backs: written, confirmed, refused.")
        self._scores = meter.create_histogram(
            "enricher_score", description="Scores by judge.", explicit_bucket_boundaries_advisory=_SCORE_BOUNDS
        )
        self._latency = meter.create_histogram(
            "enricher_model_latency",
            unit="s",
            description="Time of one question to a model, with all attempts.",
            explicit_bucket_boundaries_advisory=_SECONDS_BOUNDS,
        )
        self._meter = meter
        self._gauges: dict[str, Any] = {}

    def verdict(self, verdict: Verdict) -> None:
        """Count one verdict."""
        judge = verdict.provenance.judge
        self._judged.add(1, {"judge": judge, "status": str(verdict.status)})
        if verdict.score is not None:
            self._scores.record(verdict.score, {"judge": judge})
        for kind in kinds_of_findings(verdict):
            self._findings.add(1, {"judge": judge, "issue_type": kind})
        for part in verdict.result.parts if verdict.result is not None else ():
            for opinion in part.opinions:
                self._checked.add(1, {"judge": judge, "opinion": "agrees" if opinion.agrees else "disagrees"})

    def call(self, call: ModelCall) -> None:
        """Count one question."""
        at = {"model": call.model}
        self._calls.add(call.usage.calls, at)
        self._cost.add(call.usage.cost, at)
        for kind, count in _tokens(call).items():
            self._tokens.add(count, {**at, "kind": kind})
        self._latency.record(call.usage.latency_s, at)

    def run(self, job: str, figures: Mapping[str, Any], gauges: Mapping[str, float]) -> None:
        """Count what is known when a run ends."""
        at = {"job": job}
        self._pulled.add(figures.get("pulled", 0), at)
        for reason, count in figures.get("rejected", {}).items():
            self._rejected.add(count, {**at, "reason": reason})
        for key, state in (("written", "written"), ("confirmed", "confirmed"), ("unwritten", "refused")):
            self._annotations.add(figures.get(key, 0), {**at, "state": state})
        for name, value in gauges.items():
            if name not in self._gauges:
                self._gauges[name] = self._meter.create_gauge(f"enricher_{name}")
            self._gauges[name].set(value, at)


def _providers(section: Section, version: str) -> "tuple[TracerProvider | None, MeterProvider | None]":
    """Build what sends spans and figures; each goes to its own path below the endpoint."""
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise SetupError("telemetry needs more packages; run: pip install 'trace-enricher[telemetry]'") from error
    base = (section.endpoint or "").rstrip("/")
    options: dict[str, Any] = {"headers": _headers(section), "timeout": section.timeout.total_seconds()}
    resource = Resource(
        {
            "service.name": section.project,
            "service.version": version,
            "openinference.project.name": section.project,
        }
    )
    tracers = meters = None
    if section.traces:
        tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces", **options)))
    if section.metrics:
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{base}/v1/metrics", **options))
        meters = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    return tracers, meters


def _headers(section: Section) -> dict[str, str]:
    """Read headers as OpenTelemetry's own variables write them."""
    if section.headers is None:
        return {}
    pairs = [pair.partition("=") for pair in section.headers.get_secret_value().split(",") if pair.strip()]
    if any(not sign for _, sign, _ in pairs):
        raise SetupError(f"{section.headers_env} must hold key=value,key=value")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _of_item(item: Item, provenance: Provenance) -> dict[str, Any]:
    return {
        _KIND: "EVALUATOR",
        "enricher.judged_trace_id": item.trace_id,
        "enricher.judged_span_id": item.annotate_span_id,
        "enricher.documents": len(item.documents),
        "enricher.judge": provenance.judge,
        "enricher.judge_version": provenance.version,
        "enricher.engine": provenance.engine,
    }


def _of_verdict(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {
        "enricher.status": str(verdict.status),
        "enricher.flags": list(verdict.flags),
        "enricher.findings": len(kinds_of_findings(verdict)),
        "enricher.cost": verdict.usage.cost,
        "enricher.calls": verdict.usage.calls,
    }
    if verdict.score is not None:
        found["enricher.score"] = verdict.score
    if verdict.result is not None and verdict.status.is_verdict:
        found["enricher.label"] = verdict.result.label
    return found


def _of_call(call: ModelCall) -> dict[str, Any]:
    tokens = _tokens(call)
    return {
        _KIND: "LLM",
        "llm.model_name": call.snapshot or call.model,
        "llm.token_count.prompt": tokens["prompt"],
        "llm.token_count.completion": tokens["completion"],
        "llm.token_count.total": tokens["prompt"] + tokens["completion"],
        "llm.token_count.prompt_details.cache_read": tokens["cached"],
        "llm.cost.total": call.usage.cost,
        "enricher.calls": call.usage.calls,
    }


def _tokens(call: ModelCall) -> dict[str, int]:
    usage = call.usage
    return {"prompt": usage.prompt_tokens, "cached": usage.cached_tokens, "completion": usage.completion_tokens}


def _said_of(item: Item, verdict: Verdict) -> dict[str, Any]:
    asked = {
        "question": item.question,
        "answer": item.answer,
        "documents": [{"id": document.id, "text": document.text} for document in item.documents],
    }
    said = verdict.result.summary if verdict.result is not None else verdict.failure
    return {
        "input.value": json.dumps(asked, ensure_ascii=False),
        "input.mime_type": "application/json",
        "output.value": said or "",
    }


def _said_in(call: ModelCall) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, (role, content) in enumerate(call.messages):
        found[f"llm.input_messages.{number}.message.role"] = role
        found[f"llm.input_messages.{number}.message.content"] = content
    if call.reply is not None:
        found["llm.output_messages.0.message.role"] = "assistant"
        found["llm.output_messages.0.message.content"] = call.reply
    return found


def _end_well(span: "Span", failure: str | None, outcome: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("enricher.outcome", outcome)
    span.set_status(Status(StatusCode.OK) if failure is None else Status(StatusCode.ERROR, outcome))
