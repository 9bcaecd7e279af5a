"""OpenTelemetry spans of requests, if SLUICE_TRACES_URL names a collector."""

from collections.abc import Iterable
from typing import Any

from app.learning.errors import BadSetting

MISSING = "SLUICE_TRACES_URL is set, but OpenTelemetry is not installed: pip install 'sluice[tracing]'"


class RequestTracer:
    """Exports a span for each request, as part of the client's trace if it sent one."""

    def __init__(self, url: str, **resource: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - optional
            from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
            from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
            from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
            from opentelemetry.trace import SpanKind  # noqa: PLC0415
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415
        except ImportError:
            raise BadSetting(MISSING) from None
        self._provider = TracerProvider(resource=Resource.create({"service.name": "sluice", **resource}))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
        self._tracer = self._provider.get_tracer("sluice")
        self._propagator = TraceContextTextMapPropagator()
        self._kind = SpanKind.SERVER

    def trace(self, headers: Iterable[tuple[bytes, bytes]], begin: float, end: float, facts: dict[str, Any]) -> None:
        """Record a finished request; `begin` and `end` are Unix times in seconds."""
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        span = self._tracer.start_span(
            f"{facts['method']} {facts['route']}",
            context=self._propagator.extract(carrier),
            kind=self._kind,
            start_time=int(begin * 1e9),
            attributes={
                "http.request.method": facts["method"],
                "http.route": facts["route"],
                "http.response.status_code": facts["status"],
                "sluice.request_id": facts["request_id"],
                **({"sluice.tenant": facts["tenant"]} if "tenant" in facts else {}),
            },
        )
        span.end(int(end * 1e9))

    def close(self) -> None:
        """Send the spans that are still queued."""
        self._provider.shutdown()
