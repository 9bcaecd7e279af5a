"""Log lines and spans of requests to a real service."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.deployments import deployment, on_a_server
from tests.services import Service, wait_until
from tests.telemetry.collector import attributes_of, collecting

pytestmark = [pytest.mark.timeout(60), pytest.mark.e2e]  # they take long
PRIVATE = {"tenant": "acme", "features": {"a-private-name": 1}}


def lines(service: Service) -> list[dict[str, Any]]:
    """Parse the log lines of all processes of the service."""
    return [json.loads(line) for line in service.log().splitlines()]


def lines_about(service: Service, route: str) -> list[dict[str, Any]]:
    """Wait for the log lines of requests to a route; they are written after the response."""

    def found() -> list[dict[str, Any]]:
        return [line for line in lines(service) if line["logger"] == "sluice.requests" and line.get("route") == route]

    wait_until(lambda: bool(found()), "the request is not logged")
    return found()


@on_a_server
def test_a_failed_request_is_logged_without_its_input(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, workers=2) as deployed:
        (service,) = deployed.services
        service.post("/predict", PRIVATE).raise_for_status()
        deployed.server.freeze()
        answer = service.post("/feedback", PRIVATE | {"label": 1})
        deployed.server.thaw()
        assert answer.status_code == 503
        (line,) = lines_about(service, "/feedback")
        assert (line["request_id"], line["tenant"], line["status"]) == (answer.json()["request_id"], "acme", 503)
        assert "a-private-name" not in service.log()


def test_inputs_are_logged_on_request(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, log_requests="all", log_inputs="true") as deployed:
        (service,) = deployed.services
        service.post("/predict", PRIVATE).raise_for_status()
        (line,) = lines_about(service, "/predict")
        assert json.loads(line["input"]) == PRIVATE


def test_requests_are_traced_on_request(tmp_path: Path) -> None:
    with collecting() as collector, deployment("embedded", tmp_path, traces_url=collector.url) as deployed:
        (service,) = deployed.services
        service.post("/predict", PRIVATE).raise_for_status()
        assert service.terminate().code == 0  # queued spans are sent at shutdown
    spans = [attributes_of(span) for span in collector.spans if span.name == "POST /predict"]
    assert [(span["http.response.status_code"], span["sluice.tenant"]) for span in spans] == [(200, "acme")]
