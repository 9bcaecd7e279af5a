"""Processes with a part of a core, wrk as a client, and benchmarks that end with their processes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from load_tests.harness.processes import processor_seconds
from load_tests.harness.shares import NoShares, group_of, held, workers_of
from load_tests.harness.wrk import installed, wrk


def test_a_process_gets_no_more_than_its_share_and_nothing_is_left_of_its_group() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            own = group_of(busy.pid)
            with held([busy.pid], 0.2):
                before, begin = processor_seconds(busy.pid), time.monotonic()
                time.sleep(1.0)
                used = (processor_seconds(busy.pid) - before) / (time.monotonic() - begin)
                during = group_of(busy.pid)
                assert during.is_dir()
            assert group_of(busy.pid) == own
        except NoShares as error:
            pytest.skip(str(error))
        finally:
            busy.kill()
    assert 0.0 < used < 0.3
    assert not during.exists()


def test_a_service_of_one_worker_is_its_own_worker() -> None:
    assert workers_of(os.getpid()) == [os.getpid()]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bodies: list[bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.bodies.append(body)
        self.send_response(503 if body == b"bad" else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    Handler.bodies = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def post(body: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.skipif(not installed(), reason="wrk is not installed")
@pytest.mark.e2e
def test_wrk_sends_whole_requests_in_their_order_and_counts_refusals(server: ThreadingHTTPServer) -> None:
    bodies = [b"1\n2\r\n", b"", b"\x00" * 3000, b"bad"]
    found = wrk(server.server_port, map(post, bodies), connections=1, seconds=1)
    assert Handler.bodies[:9] == [*bodies, *bodies, bodies[0]]
    refused = Handler.bodies.count(b"bad")
    assert refused - 1 <= found.bad <= refused  # the last answer may come too late
    assert found.rate > 0.0
    assert 0.0 < found.p50 <= found.p99
