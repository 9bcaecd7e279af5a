"""Sessions in a real store, as several workers know them."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from app.auth.authenticator import Authenticator
from app.auth.errors import KeysUnread, Unauthenticated
from app.auth.keyring import Keyring
from app.auth.keys import Key
from app.auth.sessions import FRESH_SECONDS, MOST_REMEMBERED, PLAIN_COOKIE, TLS_COOKIE, Sessions, cookie_name
from app.storage.access.api_keys import ApiKeyStore
from app.storage.access.sessions import SessionStore
from app.storage.client import Connection, connect
from app.storage.errors import StoreUnavailable
from tests.servers import Server, valkey_server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Worker:
    """A worker with its keys and sessions, and a clock that stands until a test moves it."""

    def __init__(self, connection: Connection, seconds: int = 3600) -> None:
        self.authenticator = Authenticator(Keyring(ApiKeyStore(connection)), "required")
        self.clock = Clock()
        self.sessions = Sessions(self.authenticator, SessionStore(connection), seconds, self.clock)

    async def key(self) -> tuple[Key, str]:
        return await self.authenticator.create("", ["feedback", "review"], ["acme"], None, None, moderator="kim")

    async def knows(self, secret: str) -> bool:
        try:
            return await self.sessions.key_of(secret) is not None
        except Unauthenticated:
            return False


@pytest.fixture
async def worker(connection: Connection) -> Worker:
    worker = Worker(connection)
    await worker.authenticator.read()
    return worker


async def test_a_session_stands_for_its_key(worker: Worker) -> None:
    key, token = await worker.key()
    begun, secret = await worker.sessions.begin(token)
    assert begun == key
    assert await worker.sessions.key_of(secret) == key
    assert secret != (await worker.sessions.begin(token))[1], "every browser has a session of its own"


@pytest.mark.parametrize("token", ["", "nonsense", "sluice_0123456789ab_" + "a" * 43])
async def test_nobody_signs_in_with_a_wrong_key(worker: Worker, token: str) -> None:
    await worker.key()
    with pytest.raises(Unauthenticated, match="the key is not valid"):
        await worker.sessions.begin(token)


async def test_nobody_is_told_that_a_key_is_wrong_before_the_keys_are_known(connection: Connection) -> None:
    worker = Worker(connection)
    with pytest.raises(KeysUnread):
        await worker.sessions.begin("sluice_0123456789ab_" + "a" * 43)


@pytest.mark.parametrize("secret", ["", "a" * 43, "a" * 42, "*", "\x00" * 43, "a" * 5000, "é" * 43])
async def test_a_secret_that_nobody_was_given_is_no_session(worker: Worker, secret: str) -> None:
    assert not await worker.knows(secret)
    await worker.sessions.end(secret)


async def test_other_workers_know_a_session(worker: Worker, connection: Connection) -> None:
    key, token = await worker.key()
    _, secret = await worker.sessions.begin(token)
    other = Worker(connection)
    await other.authenticator.read()
    assert await other.sessions.key_of(secret) == key


async def test_other_workers_see_a_sign_out_within_a_second(worker: Worker, connection: Connection) -> None:
    other = Worker(connection)
    _, secret = await worker.sessions.begin((await worker.key())[1])
    await other.authenticator.read()
    assert await other.knows(secret)
    await worker.sessions.end(secret)
    assert not await worker.knows(secret)
    other.clock.now += 1.0
    assert not await other.knows(secret)


async def test_the_store_is_asked_only_now_and_then(worker: Worker, connection: Connection) -> None:
    _, secret = await worker.sessions.begin((await worker.key())[1])
    await SessionStore(connection).remove(secret)  # behind its back
    assert await worker.knows(secret)
    worker.clock.now += FRESH_SECONDS
    assert not await worker.knows(secret)


async def test_a_session_ends_with_its_key(worker: Worker) -> None:
    key, token = await worker.key()
    _, secret = await worker.sessions.begin(token)
    await worker.authenticator.revoke(key.id, None)
    assert not await worker.knows(secret)


async def test_a_session_ends_after_its_time_in_this_worker_and_in_the_store(
    connection: Connection, store: Server
) -> None:
    worker = Worker(connection, seconds=60)
    await worker.authenticator.read()
    _, secret = await worker.sessions.begin((await worker.key())[1])
    (name,) = store.ask("KEYS", "sluice:session:*")
    assert 58 <= store.ask("TTL", name) <= 60
    worker.clock.now += 59.9
    assert await worker.knows(secret)
    worker.clock.now += 0.2
    assert not await worker.knows(secret)


async def test_the_store_has_no_secret(worker: Worker, store: Server) -> None:
    _, token = await worker.key()
    _, secret = await worker.sessions.begin(token)
    (name,) = store.ask("KEYS", "sluice:session:*")
    for each in (secret, token, token.rpartition("_")[2]):
        assert each.encode() not in name + store.ask("GET", name)


async def test_a_worker_remembers_a_limited_number_of_sessions(worker: Worker) -> None:
    _, token = await worker.key()
    _, first = await worker.sessions.begin(token)
    for number in range(MOST_REMEMBERED):
        worker.sessions._remember(f"{number:043}", "0123456789ab")  # noqa: SLF001 - so many in the store take long
    assert len(worker.sessions._known) <= MOST_REMEMBERED  # noqa: SLF001
    assert await worker.knows(first), "it is read again"


@pytest.fixture
async def other_store(tmp_path: Path) -> AsyncIterator[tuple[Server, Callable[[], Connection]]]:
    """A store that a test may stop."""
    connections: list[Connection] = []

    def new_connection() -> Connection:
        connections.append(connect(server.url))
        return connections[-1]

    with valkey_server(tmp_path, port=0) as server:
        yield server, new_connection
        for connection in connections:
            await connection.aclose()


async def test_while_the_store_is_away_known_sessions_go_on(
    other_store: tuple[Server, Callable[[], Connection]],
) -> None:
    server, new_connection = other_store
    worker, other = Worker(new_connection()), Worker(new_connection())
    await worker.authenticator.read()
    key, token = await worker.key()
    await other.authenticator.read()
    _, secret = await worker.sessions.begin(token)
    server.kill()
    worker.clock.now += 10.0
    assert await worker.sessions.key_of(secret) == key
    with pytest.raises(StoreUnavailable):
        await other.sessions.key_of(secret)
    with pytest.raises(StoreUnavailable):
        await worker.sessions.begin(token)
    with pytest.raises(StoreUnavailable):
        await worker.sessions.end(secret)


@pytest.mark.parametrize(
    ("scheme", "forwarded", "name"),
    [
        ("http", None, PLAIN_COOKIE),
        ("http", "http", PLAIN_COOKIE),
        ("https", None, TLS_COOKIE),
        ("http", "https", TLS_COOKIE),
        ("http", "HTTPS, http", TLS_COOKIE),
        ("http", "http, https", PLAIN_COOKIE),
    ],
)
def test_the_name_of_the_cookie_depends_on_tls(scheme: str, forwarded: str | None, name: str) -> None:
    assert cookie_name(scheme, forwarded) == name
