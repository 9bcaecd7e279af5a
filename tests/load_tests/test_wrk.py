"""wrk asks what it is given, in its order, and tells what came of it."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from load_tests.harness.wrk import installed, wrk

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(not installed(), reason="wrk is not installed")]


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


def test_requests_come_whole_and_in_their_order(server: ThreadingHTTPServer) -> None:
    bodies = [b"1\n2\r\n", b"", b"\x00" * 3000]
    found = wrk(server.server_port, map(post, bodies), connections=1, seconds=1)
    assert Handler.bodies[:7] == [*bodies, *bodies, bodies[0]]
    assert found.bad == 0
    assert found.rate > 0.0
    assert 0.0 < found.p50 <= found.p99


def test_refusals_are_counted(server: ThreadingHTTPServer) -> None:
    found = wrk(server.server_port, map(post, [b"good", b"bad"]), connections=1, seconds=1)
    refused = Handler.bodies.count(b"bad")
    assert refused - 1 <= found.bad <= refused  # the last answer may come too late
