"""Slow and hostile clients and too many requests are refused, and other clients are served."""

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.reliability.deployments import deployment, on_a_server
from tests.reliability.sockets import IN_TIME, are_closed, connected, everything, pour, rss_bytes
from tests.reliability.test_metrics import samples
from tests.reliability.traffic import feedback
from tests.services import Service, new_client, wait_until

pytestmark = [pytest.mark.timeout(90), pytest.mark.e2e]  # slow

HEAD = b"POST /predict HTTP/1.1\r\nhost: x\r\n"
LINES = HEAD.replace(b"/predict", b"/predict/batch") + b"content-type: application/x-ndjson\r\n"
LINE = b'{"tenant":"acme","features":{"a":1,"b":2,"c":3},"explain":3}\n'
MANY = 300
FULL = 200_000_000  # bytes; more than any buffer
LITTLE = 1.5  # limit of memory growth, as a ratio


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    limits: dict[str, Any] = {
        "head_seconds": 1, "max_head_bytes": "8KiB", "body_idle_seconds": 1, "idle_seconds": 2,
    }  # fmt: skip
    with Service(tmp_path_factory.mktemp("limits"), **limits) as service:
        service.start()
        yield service


def answers_still(service: Service) -> None:
    with new_client() as client:
        answer = client.post(f"{service.url}/predict", json={"tenant": "acme", "features": {"a": 1}})
    assert answer.status_code == 200


def refused_for(service: Service, reason: str) -> float:
    (sample,) = samples(service, "sluice_requests_shed_total", reason=reason)
    return float(sample.value)


def test_incomplete_heads_are_closed_in_time_and_others_are_served(service: Service) -> None:
    answers_still(service)
    before = rss_bytes(service.pid)
    with ExitStack() as open_until_the_end:
        slow = [open_until_the_end.enter_context(connected(service, HEAD)) for _ in range(MANY)]
        over = threading.Event()

        def drip() -> None:
            while not over.wait(0.2):
                for connection in slow:
                    try:
                        connection.send(b"x: y\r\n", socket.MSG_DONTWAIT)
                    except OSError:  # some are closed already
                        continue

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            answers_still(service)
            assert are_closed(slow)
        finally:
            over.set()
            dripping.join()
    answers_still(service)
    assert rss_bytes(service.pid) < LITTLE * before


def test_silent_connections_are_closed_and_take_little_memory(service: Service) -> None:
    answers_still(service)
    before = rss_bytes(service.pid)
    with ExitStack() as open_until_the_end:
        silent = [open_until_the_end.enter_context(connected(service)) for _ in range(MANY)]
        answers_still(service)
        assert rss_bytes(service.pid) < LITTLE * before
        assert are_closed(silent)


def test_a_flood_of_headers_is_refused(service: Service) -> None:
    with connected(service, HEAD) as connection:
        try:
            for number in range(10_000):
                connection.sendall(b"x-%d: %b\r\n" % (number, b"y" * 1000))
        except ConnectionError:
            pass
        answer = everything(connection)
    assert answer[:12] in {b"", b"HTTP/1.1 431"}  # a client that still sends may not be able to read the answer
    with connected(service, HEAD + b"x: " + b"y" * 9000 + b"\r\n\r\n") as connection:
        head, _, body = everything(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert msgspec.json.decode(body)["type"] == "/problems/head-too-large"
    answers_still(service)


def test_a_body_that_stalls_gets_408(service: Service) -> None:
    with connected(service, HEAD + b"content-length: 100\r\n\r\n{") as connection:
        head, _, body = everything(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert msgspec.json.decode(body)["type"] == "/problems/too-slow"
    answers_still(service)


def test_a_stream_that_stalls_gets_its_answers_so_far_and_ends(service: Service) -> None:
    with connected(service, LINES + b"content-length: 10000\r\n\r\n" + 3 * LINE + LINE[:9]) as connection:
        head, _, body = everything(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body.count(b'"label":') == 3
    assert body.endswith(b"0\r\n\r\n")
    answers_still(service)


def test_an_idle_connection_is_kept_for_a_while(service: Service) -> None:
    with connected(service, b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n") as connection:
        begin = time.monotonic()
        assert everything(connection).endswith(b'{"status":"alive"}')
        assert time.monotonic() - begin > 1.5


def test_a_client_that_does_not_read_is_not_served(service: Service) -> None:
    answers_still(service)
    before = rss_bytes(service.pid)
    with ExitStack() as open_until_the_end:
        for _ in range(5):
            connection = open_until_the_end.enter_context(
                connected(service, LINES + b"content-length: 1000000000\r\n\r\n")
            )
            assert pour(connection, LINE * 1000, FULL) < FULL  # the service stops reading
        assert rss_bytes(service.pid) < LITTLE * before
        answers_still(service)


def test_an_export_waits_for_a_slow_reader_and_is_complete(service: Service) -> None:
    features = {f"feature-{number}": 1 for number in range(15_000)}
    for part in range(4):
        body = {f"{name}-{part}": value for name, value in features.items()}
        service.feedback("large", features=body, label=1).raise_for_status()
    whole = service.request("GET", "/tenants/large/export").content
    slow = connected(service, b"GET /tenants/large/export HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    with slow:
        time.sleep(2.0)  # longer than a body may stall
        answers_still(service)
        received = everything(slow)
    assert len(received) > len(whole)
    assert received.endswith(b"0\r\n\r\n")


def test_a_caller_beyond_its_rate_is_refused_and_served_again(tmp_path: Path) -> None:
    with Service(tmp_path, requests_per_second=5) as service:
        service.start()
        body = {"tenant": "acme", "features": {"a": 1}}
        service.post("/predict", body)
        time.sleep(1.1)  # the bucket is full
        answers = [service.post("/predict", body) for _ in range(30)]
        assert {answer.status_code for answer in answers} == {200, 429}
        assert [answer.status_code for answer in answers[:5]] == [200] * 5
        assert answers[0].headers["ratelimit-limit"] == "5"
        assert answers[0].headers["ratelimit-remaining"] == "4"
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.json()["type"] == "/problems/too-many-requests"
        assert refused.headers["ratelimit-remaining"] == "0"
        assert service.status("/livez") == 200
        assert refused_for(service, "rate") == sum(answer.status_code == 429 for answer in answers)
        time.sleep(float(refused.headers["retry-after"]))
        assert service.post("/predict", body).status_code == 200


@pytest.mark.parametrize(("proxies", "trusted"), [(None, False), ("10.0.0.0/8", False), ("10.0.0.0/8,127.0.0.1", True)])
def test_only_a_trusted_proxy_names_the_client(tmp_path: Path, proxies: str | None, trusted: bool) -> None:
    with Service(tmp_path, requests_per_second=1, trusted_proxies=proxies) as service:
        service.start()
        body = {"tenant": "acme", "features": {"a": 1}}
        service.request("POST", "/predict", json=body, headers={"x-forwarded-for": "192.0.2.99"})
        time.sleep(1.1)  # the bucket is full
        with ThreadPoolExecutor(5) as threads:
            asked = [threads.submit(predict_from, service, f"192.0.2.{number}") for number in range(5)]
            answers = {each.result(IN_TIME) for each in asked}
        assert answers == ({200} if trusted else {200, 429})


def test_workers_share_the_rate_of_a_caller(tmp_path: Path) -> None:
    rate = 20
    with Service(tmp_path, workers=2, requests_per_second=rate) as service:
        service.start()
        assert len(service.each_worker("/livez")) == 2
        time.sleep(1.1)  # the bucket is full
        begin, served = time.monotonic(), 0
        while predict_from(service, "") == 200:  # on new connections, so through either worker
            served += 1
        assert rate <= served <= rate * (1.0 + time.monotonic() - begin) + 1


def predict_from(service: Service, address: str) -> int:
    with new_client() as client:
        body = {"tenant": "acme", "features": {"a": 1}}
        return client.post(f"{service.url}/predict", json=body, headers={"x-forwarded-for": address}).status_code


def test_beyond_the_limit_connections_are_refused_and_open_ones_stay(tmp_path: Path) -> None:
    with Service(tmp_path, max_connections=20) as service, ExitStack() as open_until_the_end:
        service.start()
        answers_still(service)  # on its open connection
        service.client.get(f"{service.url}/livez")
        held = [open_until_the_end.enter_context(connected(service)) for _ in range(19)]
        with new_client() as client:
            refused = client.post(f"{service.url}/predict", json={"tenant": "acme", "features": {"a": 1}})
            assert (refused.status_code, refused.json()["type"]) == (503, "/problems/overloaded")
            assert "SLUICE_MAX_CONNECTIONS" in refused.json()["detail"]
            assert refused.headers["retry-after"] == "1"
            assert refused.headers["connection"] == "close"
            assert client.get(f"{service.url}/livez").status_code == 200
        assert service.predict("acme", features={"a": 1}).status_code == 200
        assert refused_for(service, "connections") == 1
        for connection in held:
            connection.close()
        wait_until(lambda: predict_from(service, "192.0.2.1") == 200, "it does not recover")


@on_a_server
def test_beyond_the_limit_requests_are_refused_at_once_and_others_answered(kind: str, tmp_path: Path) -> None:
    patient = {"max_concurrent_requests": 4}
    with (
        deployment(kind, tmp_path, number=0) as deployed,
        Service(tmp_path / "one", redis_url=f"{deployed.url}?socket_timeout=30", **patient) as service,
    ):
        service.start()  # its store timeout is longer than this test
        service.feedback("acme", **feedback(0)).raise_for_status()
        with ThreadPoolExecutor(4) as threads:
            deployed.server.freeze()
            hanging = [threads.submit(give, service, number) for number in range(1, 5)]
            wait_until(lambda: in_progress(service) == 4, "they do not hang")
            refused = service.predict("acme", features={"a": 1})
            assert not any(each.done() for each in hanging)
            assert service.status("/livez") == 200
            deployed.server.thaw()
            assert [each.result(IN_TIME) for each in hanging] == [200] * 4
        assert (refused.status_code, refused.json()["type"]) == (503, "/problems/overloaded")
        assert refused.headers["retry-after"] == "1"
        assert service.feedback("acme", **feedback(6)).status_code == 200
        assert refused_for(service, "concurrency") == 1
        assert "refusing requests: too many requests are in progress" in service.log()


def give(service: Service, number: int) -> int:
    with new_client() as client:
        return client.post(f"{service.url}/feedback", json={"tenant": "acme", **feedback(number)}).status_code


def in_progress(service: Service) -> int:
    page = service.request("GET", "/metrics").text
    found = re.search(r"^sluice_http_requests_in_progress{.*} (\S+)", page, re.MULTILINE)
    assert found
    return int(float(found[1]))


def test_a_request_that_waited_too_long_is_refused(tmp_path: Path) -> None:
    with Service(tmp_path, max_lag_milliseconds=300) as service:
        service.start()
        answers_still(service)
        with ThreadPoolExecutor(3) as threads:
            os.kill(service.pid, signal.SIGSTOP)  # as in a very long computation
            waiting = [threads.submit(service.predict, "acme", features={"a": 1}) for _ in range(2)]
            healthy = threads.submit(service.status, "/livez")
            time.sleep(1.0)
            os.kill(service.pid, signal.SIGCONT)
            answers: list[httpx.Response] = [each.result(IN_TIME) for each in waiting]
        assert [answer.status_code for answer in answers] == [503, 503]
        assert {answer.json()["type"] for answer in answers} == {"/problems/overloaded"}
        assert "SLUICE_MAX_LAG_MILLISECONDS" in answers[0].json()["detail"]
        assert healthy.result() == 200
        wait_until(lambda: service.predict("acme", features={"a": 1}).status_code == 200, "it does not recover")
        assert refused_for(service, "lag") >= 2
