"""A proxy breaks connections between our client and a real server: every failure is a StoreUnavailable."""

import asyncio
from collections.abc import Iterator

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError  # noqa: A004 - its name

from app.storage.client import Connection
from app.storage.client.connection import Call, Script
from app.storage.client.wire import pack, send
from app.storage.errors import StoreUnavailable
from tests.proxies import Fault, Proxy, some_of
from tests.servers import Server, valkey_server
from tests.storage.connections import connected, eventually_add

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

KEYS = 20
TIMEOUT_SECONDS = 0.3


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}  # as in the service


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with valkey_server(tmp_path_factory.mktemp("valkey")) as valkey:
        yield valkey


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.DELAY], ids=lambda fault: fault.name)
async def test_every_fault_is_the_same_error_and_the_next_command_works(server: Server, fault: Fault) -> None:
    with Proxy(server.port) as proxy:
        async with connected(proxy.url, timeout_seconds=TIMEOUT_SECONDS) as connection:
            await connection.ask("SET", "key", "value")
            for command in (get, get_together, run, Connection.ping):
                proxy.choose = lambda: fault
                with pytest.raises(StoreUnavailable):
                    await command(connection)
                proxy.choose = lambda: None
                assert await connection.ask("GET", "key") == b"value"


async def get(connection: Connection) -> object:
    return await connection.ask("GET", "key")


async def get_together(connection: Connection) -> object:
    return await connection.ask_all([("GET", "key")] * 3)


async def run(connection: Connection) -> object:
    return await connection.run(Call(Script("get", "return redis.call('GET', KEYS[1])", "0" * 40), ["key"], []))


async def test_a_connection_that_was_reset_while_idle_is_replaced_before_use(server: Server) -> None:
    with Proxy(server.port) as proxy:
        async with connected(proxy.url) as connection:
            for breaking in (proxy.reset_all, proxy.close_all) * 3:
                await connection.ask("SET", "key", "value")
                assert breaking()
                await asyncio.sleep(0.05)
                await connection.ping()
                assert await connection.ask("GET", "key") == b"value"


async def test_no_answer_is_given_to_another_request(server: Server) -> None:
    """A connection with a half-read or an unread answer is never used again."""
    for k in range(KEYS):
        server.ask("SET", f"key:{k}", f"{k}:" + "x" * (50 * k))
    with Proxy(server.port, delay_seconds=2 * TIMEOUT_SECONDS) as proxy:
        async with connected(proxy.url, timeout_seconds=TIMEOUT_SECONDS) as connection:
            proxy.choose = some_of(list(Fault), 0.2, seed=1)
            answered = await asyncio.gather(*(read_often(connection, k) for k in range(KEYS)))
            proxy.choose = lambda: None
            await eventually_add(connection)
    assert sum(answered) > KEYS
    assert set(proxy.counts) == set(Fault)


async def read_often(connection: Connection, k: int) -> int:
    """Read one key, alone and with others, and sometimes give up in the middle; return the number of answers."""
    answered = 0
    for attempt in range(15):
        others = [k, (k + attempt) % KEYS, (k + 2 * attempt) % KEYS]
        try:
            async with asyncio.timeout(0.005 if attempt % 5 == 4 else None):
                values = await connection.ask_all([("GET", f"key:{each}") for each in others])
        except (StoreUnavailable, TimeoutError):
            continue
        assert [int(value.partition(b":")[0]) for value in values] == others
        answered += 1
    return answered


async def test_a_write_to_a_closed_connection_is_an_error_of_the_connection_and_no_other_is(server: Server) -> None:
    async with connected(server.url) as connection:
        assert isinstance(connection.redis, Redis)
        pool = connection.redis.connection_pool
        line = await pool.get_connection()  # type: ignore[no-untyped-call]
        with pytest.raises(RuntimeError, match="of the program"):
            await line._send_packed_command(map(error_of_the_program, [b"PING"]))  # noqa: SLF001
        line._writer.transport.abort()  # noqa: SLF001
        await asyncio.sleep(0.01)
        with pytest.raises(ConnectionError):
            await send(line, pack(("PING",)))
        await pool.release(line)
        await connection.ping()


def error_of_the_program(piece: bytes) -> bytes:
    raise RuntimeError(f"an error of the program at {piece!r}")
