"""Spans, sent to a real collector: an HTTP server that reads what OpenTelemetry's exporter sends."""

import gzip
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from app.learning.errors import BadSetting
from app.telemetry.tracing import Tracing

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
FACTS = {"method": "POST", "route": "/predict", "status": 200, "request_id": "r-1", "tenant": "acme"}


class Collector(HTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.spans: list[Any] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"


class Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        self.server.spans += [
            span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans
        ]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_request_becomes_a_span_of_the_clients_trace(collector: Collector) -> None:
    tracing = Tracing(collector.url)
    tracing.trace([(b"traceparent", PARENT.encode())], 100.0, 100.5, FACTS)
    tracing.close()
    (span,) = collector.spans
    assert (span.name, span.trace_id.hex(), span.parent_span_id.hex()) == ("POST /predict", PARENT[3:35], PARENT[36:52])
    assert span.end_time_unix_nano - span.start_time_unix_nano == 500_000_000
    attributes = {each.key: each.value.string_value or each.value.int_value for each in span.attributes}
    assert attributes == {
        "http.request.method": "POST",
        "http.route": "/predict",
        "http.response.status_code": 200,
        "sluice.request_id": "r-1",
        "sluice.tenant": "acme",
    }


def test_without_the_packages_the_setting_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(BadSetting, match=r"pip install 'sluice\[tracing\]'"):
        Tracing("http://127.0.0.1:1/v1/traces")
