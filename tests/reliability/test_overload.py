"""Four times as many clients as one worker can serve, which retry at once when they are refused.

Admitted requests are served in time, at nearly the throughput without overload. All times are compared with those of
the same service just before, never with a number of seconds.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from pathlib import Path
from statistics import median

import msgspec
import pytest
import uvloop

from tests.reliability.sockets import rss_bytes
from tests.reliability.traffic import feedback
from tests.services import Service, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

SATURATING = 16  # clients; more add latency and no throughput
SECONDS = 3.0
ROUNDS = 3  # another process may disturb one comparison, hardly all
HANGS = 20.0  # seconds
REFUSALS = {429: "too-many-requests", 503: "overloaded"}
LONGER = 4.0  # limit of p99, relative to saturation
FEWER = 0.5  # least throughput, relative to saturation or to the allowed rate
SLOWER = 3.0  # limit of a plain request afterwards, relative to before
RATE_SHARE = 0.25  # of the throughput at saturation: the rate limit of one caller, also if the machine gets slower
LARGER = 1.5  # limit of memory, relative to before


@dataclass
class Load:
    """The answers to many clients."""

    statuses: Counter[int] = field(default_factory=Counter)
    served_seconds: list[float] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)

    @property
    def p99(self) -> float:
        return sorted(self.served_seconds)[int(0.99 * len(self.served_seconds))]


class Client:
    """One connection that sends its next request as soon as it is answered."""

    def __init__(self, port: int, path: str, bodies: Sequence[bytes], load: Load) -> None:
        self.port = port
        self.load = load
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: "
        self.requests = [head.encode() + b"%d\r\n\r\n" % len(body) + body for body in bodies]

    async def run(self, until: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for number in count():
            begin = time.perf_counter()
            if begin >= until:
                break
            writer.write(self.requests[number % len(self.requests)])
            status, body = await asyncio.wait_for(self.answer(reader), HANGS)
            self.note(status, body, time.perf_counter() - begin)
        writer.close()

    async def answer(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length: "))
        return int(head[9:12]), await reader.readexactly(int(length[16:]))

    def note(self, status: int, body: bytes, seconds: float) -> None:
        self.load.statuses[status] += 1
        if status == 200:
            self.load.served_seconds.append(seconds)
        elif f"/problems/{REFUSALS.get(status)}".encode() not in body:
            self.load.surprises.append(body.decode()[:300])


def put_on(service: Service, path: str, bodies: Sequence[bytes], clients: int) -> Load:
    """Run some clients for a while."""

    async def run() -> Load:
        load = Load()
        until = time.perf_counter() + SECONDS
        await asyncio.gather(*(Client(service.port, path, bodies, load).run(until) for _ in range(clients)))
        return load

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


def plain_seconds(service: Service) -> float:
    """Return the time of a prediction without other load."""
    taken = []
    for _ in range(50):
        begin = time.perf_counter()
        answer = service.predict("acme", features={"a": 1})
        taken += [time.perf_counter() - begin] if answer.status_code == 200 else []
    return median(taken) if taken else float("inf")


FEEDBACK = [msgspec.json.encode({"tenant": "acme", **feedback(number)}) for number in range(64)]
ITEMS = [{"features": feedback(number)["features"], "keep": False} for number in range(500)]
BATCH = [msgspec.json.encode({"tenant": "acme", "items": ITEMS})]


def compared(
    free: Service, limited: Service, path: str, bodies: Sequence[bytes], refusal: int, allowed: float
) -> list[str]:
    """Return the failures of the limited service under four times the load that saturates the free one.

    So many answers are allowed by its rate, whose share of the throughput changes with the speed of the machine.
    """
    saturated = put_on(free, path, bodies, SATURATING)
    assert saturated.statuses.keys() == {200}
    overloaded = put_on(limited, path, bodies, 4 * SATURATING)
    assert not overloaded.surprises, overloaded.surprises[:3]
    assert overloaded.statuses.keys() <= {200, refusal}
    if not overloaded.statuses[refusal]:  # the machine was too slow for an overload
        return ["nothing was refused"]
    longer = overloaded.p99 / saturated.p99
    fewer = overloaded.statuses[200] / min(saturated.statuses[200], allowed)
    wrong = [f"p99 is {longer:.1f} times as long"] if longer > LONGER else []
    return wrong + ([f"only {fewer:.2f} of the throughput are left"] if fewer < FEWER else [])


@pytest.mark.parametrize(
    ("path", "bodies", "refusal"),
    [("/feedback", FEEDBACK, 503), ("/predict/batch", BATCH, 503), ("/feedback", FEEDBACK, 429)],
    ids=["waiting for the store", "computing", "by rate"],
)
def test_admitted_requests_are_served_in_time(path: str, bodies: Sequence[bytes], refusal: int, tmp_path: Path) -> None:
    with Service(tmp_path / "free") as free, Service(tmp_path / "limited") as limited:
        put_on(free.start(), path, bodies, 2)  # warm up
        rate = max(int(RATE_SHARE * put_on(free, path, bodies, SATURATING).statuses[200] / SECONDS), 1)
        in_progress, by_rate = {"max_concurrent_requests": SATURATING}, {"requests_per_second": rate}
        limited.settings = {**(by_rate if refusal == 429 else in_progress)}
        put_on(limited.start(), path, bodies, 2)
        time.sleep(1.0)  # every bucket is full
        before, plain = rss_bytes(limited.pid), plain_seconds(limited)

        allowed = SECONDS * rate if refusal == 429 else math.inf
        rounds = (compared(free, limited, path, bodies, refusal, allowed) for _ in range(ROUNDS))
        wrong = list(takewhile(bool, rounds))

        assert len(wrong) < ROUNDS, wrong
        assert rss_bytes(limited.pid) < LARGER * before
        wait_until(lambda: plain_seconds(limited) < SLOWER * plain, "it does not recover")
