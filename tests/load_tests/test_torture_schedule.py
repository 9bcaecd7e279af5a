"""The schedule of the torture test, and its proxy."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from load_tests.torture.clock import Clock, _shift
from load_tests.torture.proxy import Proxy
from load_tests.torture.schedule import Durability, Fault, Lane, plan

pytestmark = pytest.mark.anyio
SEEDS = range(8)


def test_the_same_seed_gives_the_same_schedule() -> None:
    assert plan(7, 600, Durability.LOCAL) == plan(7, 600, Durability.LOCAL)
    assert plan(7, 600, Durability.LOCAL) != plan(8, 600, Durability.LOCAL)


def test_a_long_run_has_every_fault_and_only_replicated_lets_services_die_with_the_primary() -> None:
    of_local = {step.fault for step in plan(1, 3600, Durability.LOCAL)}
    assert of_local == set(Fault) - {Fault.DEATH_TOGETHER}
    assert {step.fault for step in plan(1, 3600, Durability.REPLICATED)} == set(Fault)


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_are_in_order_and_within_the_run(seed: int) -> None:
    times = [step.at_seconds for step in plan(seed, 60, Durability.LOCAL)]
    assert times == sorted(times)
    assert all(0 < at < 60 for at in times)


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_of_a_lane_do_not_overlap(seed: int) -> None:
    for lane in Lane:
        steps = [step for step in plan(seed, 300, Durability.LOCAL) if step.lane is lane]
        assert all(a.at_seconds + a.seconds <= b.at_seconds for a, b in pairwise(steps))


@asynccontextmanager
async def echo() -> AsyncIterator[Proxy]:
    """A proxy in front of a server that sends everything back."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionResetError):
            while piece := await reader.read(1000):
                writer.write(piece)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    proxy = Proxy(server.sockets[0].getsockname()[1])
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
        server.close()


async def exchange(proxy: Proxy, data: bytes = b"12345678") -> bytes:
    """Send some bytes; return the answer, or what came before the connection broke."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    received = b""
    try:
        writer.write(data)
        while len(received) < len(data) and (piece := await reader.read(1000)):
            received += piece
    except ConnectionResetError:
        received += b"!"
    writer.close()
    return received


async def test_a_proxy_passes_bytes_on() -> None:
    async with echo() as proxy:
        assert await exchange(proxy) == b"12345678"


async def test_a_proxy_resets_connections_and_takes_new_ones() -> None:
    async with echo() as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"1")
        assert await reader.read(10) == b"1"
        assert proxy.reset() == 1
        with pytest.raises(ConnectionResetError):
            await reader.read(10)
        writer.close()
        assert await exchange(proxy) == b"12345678"


async def test_a_proxy_cuts_a_reply_in_half() -> None:
    async with echo() as proxy:
        proxy.cut_replies = 1
        assert (await exchange(proxy)).rstrip(b"!") in {b"1234", b""}, "the reset may overtake the half"
        assert await exchange(proxy) == b"12345678"


async def test_a_proxy_that_is_shut_refuses_connections() -> None:
    async with echo() as proxy:
        proxy.shut()
        assert await exchange(proxy) in {b"", b"!"}
        proxy.is_open = True
        assert await exchange(proxy) == b"12345678"


async def test_a_proxy_delays() -> None:
    async with echo() as proxy:
        proxy.delay_seconds = 0.05
        begin = time.monotonic()
        assert await exchange(proxy) == b"12345678"
        assert time.monotonic() - begin >= 0.1, "in each direction"


def test_a_clock_jumps_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", time.time)
    monkeypatch.setattr(time, "time_ns", time.time_ns)
    clock = Clock(tmp_path / "clock")
    _shift(str(tmp_path / "clock"))
    assert abs(time.time() - real()) < 60
    clock.jump(-3600)
    assert abs(time.time() - real() + 3600) < 60
    assert abs(time.time_ns() / 1e9 - real() + 3600) < 60
    clock.jump(7200)
    assert abs(time.time() - real() - 3600) < 60
