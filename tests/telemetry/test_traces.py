"""Spans in a real collector."""

import sys

import pytest

from app.learning.errors import BadSetting
from app.telemetry.traces import RequestTracer
from tests.telemetry.collector import attributes_of, collecting

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
FACTS = {"method": "POST", "route": "/predict", "status": 200, "request_id": "r-1", "tenant": "acme"}


def test_a_request_becomes_a_span_of_the_clients_trace() -> None:
    with collecting() as collector:
        tracer = RequestTracer(collector.url)
        tracer.trace([(b"traceparent", PARENT.encode())], 100.0, 100.5, FACTS)
        tracer.close()
    (span,) = collector.spans
    assert (span.name, span.trace_id.hex(), span.parent_span_id.hex()) == ("POST /predict", PARENT[3:35], PARENT[36:52])
    assert span.end_time_unix_nano - span.start_time_unix_nano == 500_000_000
    assert attributes_of(span) == {
        "http.request.method": "POST",
        "http.route": "/predict",
        "http.response.status_code": 200,
        "sluice.request_id": "r-1",
        "sluice.tenant": "acme",
    }


def test_without_the_packages_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(BadSetting, match=r"pip install 'sluice\[tracing\]'"):
        RequestTracer("http://127.0.0.1:1/v1/traces")
