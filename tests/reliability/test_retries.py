"""Retries over HTTP: they get the first answer at any age, after a crash too, and their work ends with the client."""

import json
import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.deployments import deployment
from tests.reliability.oracle import client_of
from tests.reliability.traffic import feedback
from tests.services import Service, wait_until

pytestmark = pytest.mark.timeout(60)

MANY = 1200  # more than are kept in memory
REPLAYS = re.compile(r"^sluice_outcome_replays_total{\S+} (\S+)", re.MULTILINE)
GONE = re.compile(r'^sluice_http_requests_total{\S*route="/feedback/batch",status="499"', re.MULTILINE)


def body_of(numbers: range) -> dict[str, Any]:
    return {"tenant": "acme", "items": [{"feedback_id": f"id-{k}", **feedback(k)} for k in numbers]}


def give(service: Service, numbers: range) -> list[dict[str, Any]]:
    answer = service.post("/feedback/batch", body_of(numbers))
    answer.raise_for_status()
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def metrics(service: Service) -> str:
    return service.request("GET", "/metrics").text


def replays(service: Service) -> float:
    found = REPLAYS.search(metrics(service))
    assert found is not None
    return float(found[1])


def kept(service: Service) -> int:
    """Return the number of outcomes in the store."""
    with client_of(service.store_url) as client:
        return sum(client.hlen(key) for key in client.keys("*:outcomes:*"))


@pytest.mark.e2e
def test_retries_get_their_first_answers_at_any_age_and_after_a_crash(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path) as deployed:
        (service,) = deployed.services
        first = [{**each, "duplicate": True} for start in (0, 600) for each in give(service, range(start, start + 600))]
        wait_until(lambda: kept(service) == MANY, "not all outcomes are kept")
        assert give(service, range(100)) == first[:100]
        assert replays(service) == 0
        last = [{**each, "duplicate": True} for each in give(service, range(MANY, MANY + 100))]
        service.kill()  # before their outcomes are written, most likely
        service.start()
        assert give(service, range(500, 600)) == first[500:600]
        assert replays(service) == 0
        assert give(service, range(MANY, MANY + 100)) == last
        assert replays(service) <= 1
        assert give(service, range(MANY, MANY + 100)) == last


@pytest.mark.e2e
def test_the_work_of_a_retry_ends_when_its_client_is_gone(tmp_path: Path) -> None:
    number = 4000  # a replay of so many takes longer than the client stays
    with deployment("embedded", tmp_path) as deployed:
        (service,) = deployed.services
        first = [each for start in range(0, number, 500) for each in give(service, range(start, start + 500))]
        wait_until(lambda: kept(service) == number, "not all outcomes are kept")
        service.kill()
        service.start()
        with client_of(service.store_url) as client:
            client.delete(*client.keys("*:outcomes:*"))
        body = json.dumps(body_of(range(number - 10, number))).encode()
        head = (
            b"POST /feedback/batch HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(head % len(body) + body)
            time.sleep(0.05)
        wait_until(lambda: GONE.search(metrics(service)) is not None, "the request does not end")
        assert replays(service) <= 1
        assert kept(service) < number
        assert give(service, range(number - 10, number)) == [{**each, "duplicate": True} for each in first[-10:]]
        assert kept(service) == number
