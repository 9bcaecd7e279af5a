"""The client: where answers end, what they say, and what is counted."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from subprocess import CalledProcessError
from threading import Thread

import numpy as np
import pytest

from load_tests.harness.answers import VERDICTS, BadAnswer, HttpReader, LineReader
from load_tests.harness.client import Pool, perform, run
from load_tests.harness.jobs import ClosedLoop, ConstantRate, Done, Job, NdjsonStream, Request, Verdict, percentiles

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
GET = Request(b"GET / HTTP/1.1\r\n")


def test_an_answer_may_come_in_pieces() -> None:
    reader = HttpReader()
    assert reader.read(OK[:20]) is None
    assert reader.read(OK[20:] + b'{"label"') is None
    assert reader.read(b":-1}") == b'{"label":-1}'
    assert reader.read(OK + b"the next one") == b"the next one"


def test_chunks_are_put_together() -> None:
    reader = HttpReader()
    assert reader.read(CHUNKED + b'7\r\n{"label\r\n') is None
    assert reader.read(b'4\r\n":1}\r\n0\r\n\r\n') == b'{"label":1}'


def test_the_server_may_close() -> None:
    reader = HttpReader()
    reader.read(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    assert reader.closes


@pytest.mark.parametrize("answer", [b"HTTP/1.1 503 no\r\ncontent-length: 2\r\n\r\nno", b"HTTP/1.1 200 OK\r\n\r\n503"])
def test_an_error_or_an_answer_without_length_is_bad(answer: bytes) -> None:
    with pytest.raises(BadAnswer, match=r"503|200"):
        HttpReader().read(answer)


def test_a_line_is_an_answer() -> None:
    reader = LineReader()
    assert reader.read(b"0.5") is None
    assert reader.read(b"79\n") == b"0.579\n"


@pytest.mark.parametrize(
    ("verdict", "answer", "said"),
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
def test_verdicts_are_read(verdict: Verdict, answer: bytes, said: list[bool]) -> None:
    assert VERDICTS[verdict](answer) == said


@pytest.mark.parametrize("verdict", ["label", "predicted", "bayes"])
def test_an_answer_without_a_verdict_is_bad(verdict: Verdict) -> None:
    with pytest.raises(BadAnswer):
        VERDICTS[verdict](b'{"detail":"sorry"}')


def test_percentiles_are_milliseconds() -> None:
    found = percentiles(np.arange(1, 1001) / 1e3)
    assert [found.p50, found.p99, found.worst] == pytest.approx([500.5, 990.01, 1000.0])


@contextmanager
def answering(answer: Callable[[bytes], bytes], *, closes: bool = False) -> Iterator[int]:
    """A server of lines, or of HTTP without bodies, on a port."""

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


def lines(
    port: int, count: int, connections: int = 1, seconds: float = 0.0, warm_up_seconds: float = 0.05
) -> ClosedLoop:
    asked = [Request(b"%d\n" % (k % 3 - 1), kind="ab"[k % 2], judged=k % 2 == 0) for k in range(count)]
    return ClosedLoop(
        wire="lines",
        verdict="sign",
        requests=asked,
        port=port,
        marks=0,
        connections=connections,
        seconds=seconds,
        warm_up_seconds=warm_up_seconds,
    )


def performed(job: Job) -> Done:
    return asyncio.run(perform(job))


def test_requests_are_sent_once_and_in_order() -> None:
    with answering(lambda line: line) as port:
        found = performed(lines(port, 12))
    assert found.verdicts == bytes([0, 1, 0, 0, 1, 0])  # -1, 1, 0 and again
    assert (found.answers, found.latencies("a").size, found.latencies("b").size) == (12, 6, 6)
    assert found.latencies("a").min() > 0.0


def test_a_load_lasts_as_long_as_it_should() -> None:
    with answering(lambda line: line) as port:
        found = performed(lines(port, 4, connections=3, seconds=0.2))
    assert found.seconds == 0.2
    assert found.answers == found.latencies("a").size + found.latencies("b").size > 4
    assert found.verdicts == b""


def test_a_load_waits_for_a_server_that_is_slower_than_its_time() -> None:
    def slowly(line: bytes) -> bytes:
        time.sleep(0.2)
        return line

    with answering(slowly) as port:
        found = performed(lines(port, 4, connections=3, seconds=0.01, warm_up_seconds=0.01))
    assert found.answers == 3
    assert found.seconds > 0.1


def http(body: bytes, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (more, len(body), body)


def test_connections_that_are_closed_are_opened_again() -> None:
    asked = [Request(GET.head, judged=True)] * 5
    with answering(lambda _: http(b'{"label":1}', b"Connection: close\r\n"), closes=True) as port:
        found = performed(ClosedLoop(verdict="label", requests=asked, port=port, marks=0))
    assert found.verdicts == b"\1" * 5


def test_a_connection_that_breaks_ends_the_job() -> None:
    with answering(lambda _: b"no line", closes=True) as port, pytest.raises(ConnectionError, match="closed"):
        performed(lines(port, 4))


def test_an_answer_without_its_score_ends_the_job() -> None:
    with answering(lambda _: http(b'{"score":1}')) as port:
        assert performed(ClosedLoop(requests=[GET], port=port)).answers == 1
        with pytest.raises(BadAnswer, match="score"):
            performed(ClosedLoop(requests=[GET], port=port, marks=2))


def test_unique_ids_never_come_twice() -> None:
    seen: list[bytes] = []

    def note(line: bytes) -> bytes:
        seen.append(line)
        return line

    with answering(note) as port:
        requests = [Request(b"id ", b"\n")] * 20
        performed(ClosedLoop(wire="lines", requests=requests, port=port, connections=2, marks=0))
    assert len(set(seen)) == 20
    assert {len(line) for line in seen} == {24}


def test_a_constant_rate_is_kept_and_a_wait_counts() -> None:
    def slowly(_: bytes) -> bytes:
        time.sleep(0.05)
        return http(b'{"score":1}')

    with answering(slowly) as port:
        job = ConstantRate(port=port, kinds={"a": [GET]}, per_second=40.0, seconds=0.5, connections=1)
        found = run(job)
    assert found.answers == 20
    assert found.latencies("a")[-1] > 0.2  # the requests queue for the one connection


@pytest.mark.parametrize("lost", [0, 1])
def test_every_line_of_a_stream_needs_its_answer(lost: int) -> None:
    answers = {GET.head: b"HTTP/1.1 200 OK\r\n\r\n", b"0\r\n": b"0\r\n\r\n"}
    left = [lost]

    def answer(line: bytes) -> bytes:
        if line == b"{}\n" and left[0]:
            left[0] -= 1
            return b""
        return answers.get(line, b'{"score":1}\n')

    with answering(answer) as port:
        job = NdjsonStream(port=port, head=GET.head, blocks=[b"{}\n"], connections=1, seconds=0.1, warm_up_seconds=0.0)
        with pytest.raises(CalledProcessError) if lost else nullcontext():
            assert run(job).seconds == 0.1


def test_a_program_is_a_contender(tmp_path: Path) -> None:
    (tmp_path / "words").touch()
    asked = [Request(b"cat - words\nS 0.9\n", judged=True), Request(b"cat\nU 0.1\n", kind="learn")]
    found = performed(ClosedLoop(wire="programs", verdict="probability", requests=asked, folder=str(tmp_path), marks=0))
    assert (found.verdicts, found.latencies("learn").size) == (b"\1", 1)


def test_a_program_that_fails_ends_the_job(tmp_path: Path) -> None:
    asked = [Request(b"sh -c false_and_unknown\n")]
    with pytest.raises(BadAnswer, match="returned 127"):
        performed(ClosedLoop(wire="programs", requests=asked, folder=str(tmp_path), marks=0))


def test_the_client_has_a_process_of_its_own() -> None:
    with answering(lambda line: line) as port:
        assert len(run(lines(port, 6)).verdicts) == 3


def test_a_pool_keeps_connections_until_the_server_closes_them() -> None:
    async def both(port: int) -> list[bytes]:
        pool = Pool(port)
        found = [(await pool.send("GET", "/")).body for _ in range(2)]
        pool.close()
        return found

    for closes, more in ((False, b""), (True, b"connection: close\r\n")):
        with answering(lambda line: http(b"1", more) if line.startswith(b"GET") else b"", closes=closes) as port:  # noqa: B023 - used within the turn
            assert asyncio.run(both(port)) == [b"1", b"1"]
