"""Sending commands to a real server."""

import asyncio

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from app.storage.client.failures import store_errors
from app.storage.client.wire import exchange, pack, send
from app.storage.errors import StoreUnavailable
from tests.servers import Server
from tests.storage.connections import connected

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}  # as in the service


async def test_a_command_is_written_before_other_tasks_run(store: Server) -> None:
    async with connected(store.url) as connection:
        assert isinstance(connection.redis, Redis)
        await connection.redis.ping()
        line = await connection.redis.connection_pool.get_connection()  # type: ignore[no-untyped-call]
        coroutine = send(line, pack(("PING",)))
        with pytest.raises(StopIteration):  # it did not wait for anything
            coroutine.send(None)
        assert await line.read_response() == b"PONG"
        await connection.redis.connection_pool.release(line)


async def test_answers_are_in_order_and_errors_take_their_places(store: Server) -> None:
    store.flush_all()
    commands: list[tuple[str | bytes | int, ...]] = [
        ("SET", "a", b"\0\xff"),
        ("LPUSH", "a", 1),
        ("GET", "a"),
        ("INCRBY", "n", 41),
    ]
    async with connected(store.url) as connection:
        assert isinstance(connection.redis, Redis)
        answers = await exchange(connection.redis, b"".join([pack(command) for command in commands]), len(commands))
    assert isinstance(answers[1], ResponseError)
    assert [answers[0], *answers[2:]] == [b"OK", b"\0\xff", 41]


async def test_sending_to_a_frozen_server_times_out(store: Server) -> None:
    async with connected(store.url, timeout_seconds=0.5) as connection:
        assert isinstance(connection.redis, Redis)
        await connection.redis.ping()
        store.freeze()
        try:
            with pytest.raises(StoreUnavailable), store_errors():
                await exchange(connection.redis, pack(("SET", "large", bytes(50_000_000))), 1)
        finally:
            store.thaw()
        assert await asyncio.wait_for(connection.redis.exists("large"), 10) == 0
