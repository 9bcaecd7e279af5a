"""Connections to one real server in various configurations."""

import logging
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.asyncio.connection import SSLConnection
from redis.exceptions import ResponseError

from app.storage.client import Connection, Durability
from app.storage.client.failures import store_errors
from app.storage.client.monitor import look
from app.storage.client.server_check import check_server
from app.storage.embedded.valkey import EmbeddedValkey
from app.storage.errors import StoreUnavailable, StoreUnusable
from app.storage.event_log import EventLog
from tests.servers import (
    Server,
    free_port,
    redis_binary,
    redis_server,
    valkey_server,
)
from tests.storage.connections import add, connected

pytestmark = pytest.mark.anyio
needs_redis = pytest.mark.skipif(redis_binary() is None, reason="redis-server is not installed")


async def fill(connection: Connection) -> None:
    with store_errors():
        for k in range(100):
            await connection.redis.set(f"key:{k}", b"x" * 100_000)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with valkey_server(tmp_path_factory.mktemp("valkey")) as server:
        yield server


async def test_a_server_is_reached_by_tcp(valkey: Server) -> None:
    async with connected(valkey.url) as connection:
        await connection.ping()
        await connection.redis.set("key", b"\xff")
        assert await connection.redis.get("key") == b"\xff"
        assert not connection.is_cluster


async def test_the_embedded_server_is_reached_and_needs_no_advice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedded = EmbeddedValkey(tmp_path / "my data")
    try:
        async with connected(embedded.start()) as connection:
            await connection.ping()
            assert await add(connection) == 1
        assert caplog.records == []
    finally:
        embedded.stop()


@needs_redis
async def test_debians_redis_is_reached(tmp_path: Path) -> None:
    with redis_server(tmp_path, port=0) as server:
        async with connected(server.url) as connection:
            await connection.ping()
            assert await add(connection) == 1
            assert await check_server(connection) == []


async def test_a_database_can_be_selected(valkey: Server) -> None:
    async with connected(f"{valkey.url}/3") as third, connected(valkey.url) as zeroth:
        await third.redis.set("only here", 1)
        assert await zeroth.redis.exists("only here") == 0


@needs_redis
async def test_an_encrypted_server_is_reached(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    port = free_port()
    tls = ("--tls-port", str(port), "--tls-cert-file", str(certificate), "--tls-key-file", str(key))
    with redis_server(tmp_path / "redis", *tls, "--tls-auth-clients", "no"):
        async with connected(f"rediss://localhost:{port}?ssl_ca_certs={certificate}") as connection:
            await connection.ping()
            assert await add(connection) == 1
        async with connected(f"rediss://localhost:{port}") as connection:
            with pytest.raises(StoreUnavailable, match=r"localhost:\d+ cannot be reached"):
                await connection.ping()


async def test_an_encrypted_url_never_connects_in_the_clear(valkey: Server) -> None:
    async with connected(valkey.url.replace("redis:", "rediss:"), timeout_seconds=0.3) as connection:
        assert isinstance(connection.redis, Redis)
        assert issubclass(connection.redis.connection_pool.connection_class, SSLConnection)
        with pytest.raises(StoreUnavailable):
            await connection.ping()


def self_signed(folder: Path) -> tuple[Path, Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


async def test_a_server_named_as_a_cluster_is_refused(valkey: Server) -> None:
    async with connected(valkey.url.replace("redis:", "redis+cluster:")) as connection:
        with pytest.raises(StoreUnusable, match="is not a cluster; write redis://"):
            await connection.ping()


async def test_a_blocking_read_may_take_longer_than_other_commands(valkey: Server) -> None:
    async with connected(valkey.url, timeout_seconds=0.2) as connection:
        client = connection.blocking(longest_wait_seconds=1.0)
        assert await client.xread({"nothing": "$"}, block=500) in (None, [], {})
        with pytest.raises(StoreUnavailable), store_errors():
            await connection.redis.xread({"nothing": "$"}, block=500)


async def test_a_full_server_is_unavailable(tmp_path: Path) -> None:
    with valkey_server(tmp_path, "--maxmemory", "1mb") as server:
        async with connected(server.url) as connection:
            with pytest.raises(StoreUnavailable, match="no memory left"):
                await fill(connection)
            with pytest.raises(StoreUnavailable, match="no memory left"), store_errors():
                await connection.redis.eval("return redis.call('SET', KEYS[1], 1)", 1, "key")


async def test_an_error_of_a_script_passes_through(valkey: Server) -> None:
    async with connected(valkey.url) as connection:
        with pytest.raises(ResponseError, match="my own"), store_errors():
            await connection.redis.eval("return redis.error_reply('MINE my own')", 0)


async def test_a_wrong_password_is_reported_without_showing_it(tmp_path: Path) -> None:
    with valkey_server(tmp_path, "--requirepass", "right") as server:
        async with connected(server.url.replace("://", "://:hunter2@")) as connection:
            with pytest.raises(StoreUnavailable, match="refuses the user name or the password") as refused:
                await connection.ping()
            assert "hunter2" not in str(refused.value)
        async with connected(server.url.replace("://", "://:right@")) as connection:
            await connection.ping()


UNSAFE = (("appendonly", "no", "yes"), ("maxmemory-policy", "allkeys-lru", "noeviction"))


@pytest.mark.parametrize(("name", "value", "wanted"), UNSAFE)
async def test_an_unsafe_server_is_refused(name: str, value: str, wanted: str, tmp_path: Path) -> None:
    with valkey_server(tmp_path, f"--{name}", value) as server:
        async with connected(server.url) as connection:
            sentence = f"has {name} {value}, not {wanted}: .*SLUICE_ALLOW_UNSAFE_REDIS=true"
            with pytest.raises(StoreUnusable, match=sentence):
                await connection.ping()
            with pytest.raises(StoreUnavailable, match=sentence):
                await EventLog(connection, 60).create("acme")
            server.ask("CONFIG", "SET", name, wanted)
            await connection.ping()
            assert (await EventLog(connection, 60).create("acme")).version == 0


@pytest.mark.parametrize(("name", "value", "wanted"), UNSAFE)
async def test_an_unsafe_server_that_hides_its_settings_is_refused_by_its_info(
    name: str, value: str, wanted: str, tmp_path: Path
) -> None:
    with valkey_server(tmp_path, f"--{name}", value) as server:
        server.ask("ACL", "SETUSER", "sluice", "on", ">word", "~*", "+@all", "-config")
        async with connected(server.url.replace("://", "://sluice:word@")) as connection:
            with pytest.raises(StoreUnusable, match=f"has {name} {value}, not {wanted}"):
                await connection.ping()


async def test_an_unsafe_server_is_accepted_with_the_override_and_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unsafe = ("--appendonly", "no", "--maxmemory-policy", "allkeys-lru")
    with valkey_server(tmp_path, *unsafe) as server, caplog.at_level(logging.WARNING, "sluice.storage"):
        async with connected(server.url, durability=Durability(allow_unsafe=True)) as connection:
            await connection.ping()
            await look(connection)
            assert (await EventLog(connection, 60).create("acme")).version == 0
    where = f"Redis at 127.0.0.1:{server.port}"
    assert caplog.messages == [
        f"{where} has appendonly no, not yes: a restart of the server loses acknowledged feedback",
        f"{where} has maxmemory-policy allkeys-lru, not noeviction: a full server evicts data that it should keep",
    ]


async def test_a_server_that_refuses_writes_is_noticed_by_a_write_and_its_end_by_a_probe(valkey: Server) -> None:
    async with connected(valkey.url) as connection:
        await connection.ping()
        assert connection.status.trouble is None
        valkey.ask("CONFIG", "SET", "maxmemory", "1")
        try:
            with pytest.raises(StoreUnavailable):
                await EventLog(connection, 60).create("acme")
            assert "cannot write" in str(connection.status.trouble)
            await look(connection)
            assert "no memory left" in str(connection.status.trouble)
        finally:
            valkey.ask("CONFIG", "SET", "maxmemory", "0")
        await look(connection)
        assert connection.status.trouble is None


async def test_a_lazy_fsync_is_advised_against(tmp_path: Path) -> None:
    with valkey_server(tmp_path, "--appendfsync", "everysec") as server:
        async with connected(server.url) as connection:
            [sentence] = await check_server(connection)
    assert "appendfsync everysec, not always" in sentence


async def test_hidden_settings_are_reported(tmp_path: Path) -> None:
    with valkey_server(tmp_path) as server:
        server.ask("ACL", "SETUSER", "sluice", "on", ">word", "~*", "+@all", "-config", "-info")
        async with connected(server.url.replace("://", "://sluice:word@")) as connection:
            await connection.ping()
            [sentence] = await check_server(connection)
    assert "does not show its settings" in sentence
