"""The client of the peers' benchmark: where answers end, and what they say."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest

from load_tests.peers.client import connections, programs
from load_tests.peers.client.framing import Http, Lines
from load_tests.peers.client.jobs import Done, Job, Request
from load_tests.peers.client.process import done
from load_tests.peers.client.verdicts import verdicts
from load_tests.service.http_answers import BadAnswer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def test_an_answer_may_come_in_pieces() -> None:
    framing = Http()
    assert framing.take(OK[:20]) is None
    assert framing.take(OK[20:] + b'{"label"') is None
    assert framing.take(b":-1}") == b'{"label":-1}'
    assert framing.take(OK + b"the next one") == b"the next one"


def test_chunks_are_put_together() -> None:
    framing = Http()
    assert framing.take(CHUNKED + b'7\r\n{"label\r\n') is None
    assert framing.take(b'4\r\n":1}\r\n0\r\n\r\n') == b'{"label":1}'


def test_the_server_may_close() -> None:
    framing = Http()
    framing.take(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    assert framing.closes


def test_an_error_is_no_answer() -> None:
    with pytest.raises(BadAnswer, match="503"):
        Http().take(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\n\r\nno")


def test_a_line_is_an_answer() -> None:
    framing = Lines()
    assert framing.take(b"0.5") is None
    assert framing.take(b"79\n") == b"0.579\n"


@pytest.mark.parametrize(
    ("reading", "answer", "said"),
    [
        ("label", b'{"prediction_id":"1","label":1,"score":0.1}', [True]),
        ("label", b'{"label":-1,"score":-0.1}', [False]),
        ("predicted", b'{"label":1,"predicted":-1}\n{"label":-1,"predicted":1}\n', [False, True]),
        ("sign", b"0.579380\n", [True]),
        ("sign", b"-1\n", [False]),
        ("sign", b"0\n", [False]),
        ("bayes", b'{"symbols":{"BAYES_SPAM":{"score":5.1}}}', [True]),
        ("bayes", b'{"symbols":{"BAYES_HAM":{"score":-3.0}}}', [False]),
        ("bayes", b'{"symbols":{}}', [False]),
        ("probability", b"S 0.999\n", [True]),
        ("probability", b"U 0.500000\n", [False]),
        ("probability", b"", [False]),
    ],
)
def test_verdicts_are_read(reading: str, answer: bytes, said: list[bool]) -> None:
    assert verdicts(reading, answer) == said  # type: ignore[arg-type]


@pytest.mark.parametrize("reading", ["label", "predicted", "bayes"])
def test_an_answer_without_a_verdict_is_none(reading: str) -> None:
    with pytest.raises(BadAnswer):
        verdicts(reading, b'{"detail":"sorry"}')  # type: ignore[arg-type]


@contextmanager
def answering(answer: Callable[[bytes], bytes], *, closes: bool = False) -> Iterator[int]:
    """A server of lines, or of HTTP without bodies; its port."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            while line := self.rfile.readline():
                if line != b"\r\n":
                    self.wfile.write(answer(line))
                if closes:
                    return

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def lines(port: int, count: int, **more: float) -> Job:
    asked = [Request(b"%d\n" % (k % 3 - 1), learns=k % 2 == 1, judged=k % 2 == 0) for k in range(count)]
    return Job(wire="lines", reading="sign", requests=asked, port=port, **more)  # type: ignore[arg-type]


def test_requests_are_asked_once_and_in_order() -> None:
    with answering(lambda line: line) as port:
        found = asyncio.run(connections.ask(lines(port, 12)))
    assert found.verdicts == bytes([0, 1, 0, 0, 1, 0])  # -1, 1, 0 and again
    assert (found.predict_seconds.size, found.learn_seconds.size) == (6, 6)
    assert found.predict_seconds.min() > 0.0


def test_a_load_lasts_as_long_as_it_is_told_to() -> None:
    with answering(lambda line: line) as port:
        found = asyncio.run(connections.ask(lines(port, 4, connections=3, seconds=0.2, warm_up_seconds=0.05)))
    assert found.seconds == 0.2
    assert found.predict_seconds.size + found.learn_seconds.size > 4
    assert found.verdicts == b""


def test_a_load_waits_for_whoever_is_slower_than_its_time() -> None:
    def slowly(line: bytes) -> bytes:
        time.sleep(0.2)
        return line

    with answering(slowly) as port:
        found = asyncio.run(connections.ask(lines(port, 4, connections=3, seconds=0.01, warm_up_seconds=0.01)))
    assert found.predict_seconds.size + found.learn_seconds.size == 3
    assert found.seconds > 0.1


def test_connections_that_are_closed_are_opened_again() -> None:
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 11\r\n\r\n"
    asked = [Request(b"GET / HTTP/1.1\r\n", judged=True)] * 5
    with answering(lambda _: head + b'{"label":1}', closes=True) as port:
        found = asyncio.run(connections.ask(Job(wire="http", reading="label", requests=asked, port=port)))
    assert found.verdicts == b"\1" * 5


def test_a_connection_that_breaks_ends_the_job() -> None:
    with answering(lambda _: b"no line", closes=True) as port, pytest.raises(ConnectionError, match="closed"):
        asyncio.run(connections.ask(lines(port, 4)))


def test_a_program_is_a_contender(tmp_path: Path) -> None:
    (tmp_path / "words").touch()
    asked = [Request(b"cat - words\nS 0.9\n", judged=True), Request(b"cat\nU 0.1\n", learns=True)]
    job = Job(wire="programs", reading="probability", requests=asked, folder=str(tmp_path))
    found: Done = asyncio.run(programs.ask(job))
    assert (found.verdicts, found.learn_seconds.size) == (b"\1", 1)


def test_a_program_that_fails_ends_the_job(tmp_path: Path) -> None:
    asked = [Request(b"sh -c false_and_unknown\n")]
    with pytest.raises(BadAnswer, match="returned 127"):
        asyncio.run(programs.ask(Job(wire="programs", reading="probability", requests=asked, folder=str(tmp_path))))


def test_the_client_has_a_process_of_its_own() -> None:
    with answering(lambda line: line) as port:
        assert len(done(lines(port, 6)).verdicts) == 3
