"""A local OpenTelemetry collector: takes OTLP over HTTP, and keeps spans and figures in plain values."""

import gzip
from collections.abc import Mapping
from typing import Any, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.servers.failing import Asked, FailingServer, Reply


class Collector:
    """Takes what is exported; `reply` may be set to another answer."""

    def __init__(self) -> None:
        self.reply = Reply(body=b"", headers={"content-type": "application/x-protobuf"})
        self.spans: list[dict[str, Any]] = []
        self.points: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self._server = FailingServer(self._take)

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        self.url = self._server.base_url
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._server.__aexit__(*problem)

    @property
    def bodies(self) -> bytes:
        """Return everything that came, as bytes."""
        return b"".join(_body(asked) for asked in self._server.asked)

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return the points of one figure."""
        return [point for point in self.points if point["name"] == name]

    def _take(self, asked: Asked) -> Reply:
        self.headers.append(asked.headers)
        if asked.path == "/v1/traces":
            self._take_spans(ExportTraceServiceRequest.FromString(_body(asked)))
        elif asked.path == "/v1/metrics":
            self._take_points(ExportMetricsServiceRequest.FromString(_body(asked)))
        else:
            return Reply(status=404)
        return self.reply

    def _take_spans(self, request: ExportTraceServiceRequest) -> None:
        for group in request.resource_spans:
            self.resources.append(_read(group.resource.attributes))
            for span in (span for scope in group.scope_spans for span in scope.spans):
                self.spans.append(
                    {
                        "name": span.name,
                        "id": span.span_id.hex(),
                        "parent": span.parent_span_id.hex(),
                        "trace": span.trace_id.hex(),
                        "seconds": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                        "status": span.status.code,
                        "attributes": _read(span.attributes),
                    }
                )

    def _take_points(self, request: ExportMetricsServiceRequest) -> None:
        for group in request.resource_metrics:
            self.resources.append(_read(group.resource.attributes))
            for metric in (metric for scope in group.scope_metrics for metric in scope.metrics):
                data = getattr(metric, str(metric.WhichOneof("data")))
                for point in data.data_points:
                    value: Any = (
                        list(point.bucket_counts)
                        if metric.WhichOneof("data") == "histogram"
                        else getattr(point, str(point.WhichOneof("value")))
                    )
                    self.points.append({"name": metric.name, "value": value, **_read(point.attributes)})


def _body(asked: Asked) -> bytes:
    return gzip.decompress(asked.body) if asked.headers.get("content-encoding") == "gzip" else asked.body


def _read(attributes: Any) -> dict[str, Any]:
    pairs: list[KeyValue] = list(attributes)
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, str(kind)) if kind else None
