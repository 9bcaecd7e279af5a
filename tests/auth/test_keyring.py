"""The keyring in a real store that loses what it has acknowledged, as workers with memory and a local copy see it."""

import asyncio
import json
import logging
import os
import stat
from pathlib import Path

import pytest
import redis

from app.auth.audit import Audit, entries
from app.auth.authenticator import NO_KEY_LEFT, Authenticator
from app.auth.errors import Unauthenticated
from app.auth.key_file import KeyFile
from app.auth.keyring import REVOKED_AT_MOST, Keyring, newest
from app.auth.keys import Key
from app.storage.access.api_keys import ApiKeyStore
from app.storage.access.audit_log import AuditLog
from app.storage.client.connection import Connection
from app.storage.redis_keys import KEYRING, REVOKED
from app.telemetry.counters import Telemetry
from tests.servers import Server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


class Worker:
    """A worker, whose service may have a data directory."""

    def __init__(self, connection: Connection, data_dir: Path | None = None, mode: str = "auto") -> None:
        self.audit = AuditLog(connection, 1000)
        self.telemetry = Telemetry()
        copy = KeyFile(data_dir) if data_dir else None
        self.keyring = Keyring(ApiKeyStore(connection), copy, Audit(self.audit), self.telemetry)
        self.authenticator = Authenticator(self.keyring, mode)
        self.read = self.authenticator.read
        self.revoke = self.authenticator.revoke

    async def make(self, by: Key | None = None) -> tuple[Key, str]:
        return await self.authenticator.create("", ["predict", "admin"], ["*"], None, by)

    def accepts(self, token: str) -> bool:
        try:
            return self.authenticator.authorise(token, "predict") is not None
        except Unauthenticated:
            return False

    async def audited(self) -> list[str]:
        return [entry.detail or "" async for entry in entries(self.audit) if entry.action == "restore_keys"]


@pytest.fixture
def client(store: Server) -> "redis.Redis":
    return store.client()


def copy_of(client: "redis.Redis") -> dict[str, bytes]:
    return {name: data for name in (KEYRING, REVOKED) if (data := client.dump(name))}


def restore(client: "redis.Redis", copy: dict[str, bytes]) -> None:
    """Go back to a copy, as a failover to a replica does that is behind."""
    for name, data in copy.items():
        client.restore(name, 0, data, replace=True)


@pytest.mark.parametrize("loss", [("FLUSHALL",), ("DEL", KEYRING), ("DEL", KEYRING, REVOKED)], ids=" ".join)
async def test_lost_keys_are_put_back_and_access_stays_closed(
    connection: Connection, client: "redis.Redis", loss: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    here, there = Worker(connection), Worker(connection)
    (key, token), (revoked, _) = await here.make(), await here.make()
    await here.revoke(revoked.id, None)
    await there.read()
    client.execute_command(*loss)  # type: ignore[no-untyped-call]
    for worker in (there, here):
        await worker.read()
        assert not worker.authenticator.is_open
        assert worker.accepts(token)
    fresh = Worker(connection)
    await fresh.read()
    assert set(fresh.keyring.keys) == {key.id}
    assert fresh.authenticator.authorise(token, "predict") == key
    assert here.telemetry.keys_restored + there.telemetry.keys_restored >= 1
    assert f"1 API key ({key.id})" in there.authenticator.notes[0]
    assert f"1 API key ({key.id})" in (await there.audited())[0]
    assert [record.levelno for record in caplog.records if "put back" in record.getMessage()] == [logging.ERROR]


async def test_a_lost_revocation_is_asserted_again(connection: Connection, client: "redis.Redis") -> None:
    here = Worker(connection)
    key, token = await here.make()
    before = copy_of(client)
    await here.revoke(key.id, None)
    restore(client, before)
    await here.read()
    assert not here.accepts(token)
    fresh = Worker(connection)
    await fresh.read()
    assert not fresh.accepts(token)
    assert client.hget(KEYRING, key.id) is None
    assert client.hexists(REVOKED, key.id)
    assert f"1 revocation ({key.id})" in (await here.audited())[0]


async def test_a_version_is_never_used_twice(connection: Connection, client: "redis.Redis") -> None:
    """A failover loses one change, another worker makes another one: a counter would have the same value again."""
    here, there = Worker(connection), Worker(connection)
    await here.make()
    await there.read()
    before = copy_of(client)
    _, lost = await here.make()
    restore(client, before)
    _, new = await there.make()
    for worker in (here, there, here):
        await worker.read()
    for worker in (here, there):
        assert worker.accepts(new), "a key that was acknowledged"
        assert worker.accepts(lost), "a key that was acknowledged and lost"


async def test_workers_that_change_keys_at_the_same_time_lose_no_change(connection: Connection) -> None:
    workers = [Worker(connection) for _ in range(4)]
    made = await asyncio.gather(*(worker.make() for worker in workers * 5))
    await asyncio.gather(*(worker.revoke(key.id, None) for worker, (key, _) in zip(workers * 2, made, strict=False)))
    for worker in workers:
        await worker.read()
        assert [worker.accepts(token) for _, token in made] == [False] * 8 + [True] * 12
        assert worker.telemetry.keys_restored == 0


async def test_a_rotation_that_was_lost_is_put_back(connection: Connection, client: "redis.Redis") -> None:
    here = Worker(connection)
    key, old = await here.make()
    before = copy_of(client)
    _, new = await here.authenticator.rotate(key.id, 0, None)
    restore(client, before)
    fresh = Worker(connection)
    await here.read()
    await fresh.read()
    assert (fresh.accepts(old), fresh.accepts(new)) == (False, True)


async def test_the_last_revocation_does_not_open_the_service(connection: Connection, tmp_path: Path) -> None:
    worker = Worker(connection, tmp_path)
    await worker.read()
    assert worker.authenticator.is_open
    assert not (tmp_path / "keys.json").exists()
    key, token = await worker.make()
    await worker.revoke(key.id, None)
    for one in (worker, Worker(connection, tmp_path), Worker(connection)):
        await one.read()
        assert not one.authenticator.is_open
        assert not one.accepts(token)
        assert one.authenticator.notes == [NO_KEY_LEFT]


async def test_an_emptied_store_gets_its_keys_from_the_local_copy(
    connection: Connection, client: "redis.Redis", tmp_path: Path
) -> None:
    before = Worker(connection, tmp_path)
    (_, token), (revoked, _) = await before.make(), await before.make()
    await before.revoke(revoked.id, None)
    text = (tmp_path / "keys.json").read_text()
    assert token[20:] not in text
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["keys.json"]  # noqa: PTH208
    client.flushall()
    after = Worker(connection, tmp_path)
    await after.read()
    assert not after.authenticator.is_open
    assert after.accepts(token)
    assert after.telemetry.keys_restored == 2
    assert client.hexists(REVOKED, revoked.id)
    assert (tmp_path / "keys.json").read_text() == text, "also the identity"


async def test_the_copy_of_another_store_is_not_used(
    connection: Connection, client: "redis.Redis", tmp_path: Path
) -> None:
    _, foreign = await Worker(connection, tmp_path).make()
    client.flushall()
    own, _ = await Worker(connection, tmp_path / "other").make()
    worker = Worker(connection, tmp_path)
    await worker.read()
    assert not worker.accepts(foreign)
    assert set(json.loads((tmp_path / "keys.json").read_text())["keys"]) == {own.id}


@pytest.mark.parametrize("content", [b"", b"{", b"\x00\xff", b"[]", b'{"keys": {"a": 1}}'])
async def test_an_unreadable_copy_keeps_the_service_closed(
    connection: Connection, tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "keys.json").write_bytes(content)
    worker = Worker(connection, tmp_path)
    await worker.read()
    assert not worker.authenticator.is_open
    assert f"{tmp_path / 'keys.json'}, the copy of the keys, cannot be read" in caplog.text
    key, _ = await worker.make()
    assert set(json.loads((tmp_path / "keys.json").read_text())["keys"]) == {key.id}


async def test_a_copy_that_cannot_be_written_is_reported_and_written_later(
    connection: Connection, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    worker = Worker(connection, tmp_path / "data")
    _, token = await worker.make()
    assert worker.accepts(token)
    assert "cannot be written" in worker.authenticator.notes[0]
    (tmp_path / "data").unlink()
    await worker.read()
    assert worker.authenticator.notes == []
    assert (tmp_path / "data" / "keys.json").exists()


async def test_keys_are_known_while_the_store_refuses_to_write(connection: Connection, client: "redis.Redis") -> None:
    worker, other = Worker(connection), Worker(connection)
    (_, kept), (gone, token) = await worker.make(), await worker.make()
    await other.read()
    await other.revoke(gone.id, None)
    lost, _ = await other.make()
    await worker.read()
    client.hdel(KEYRING, lost.id)
    client.hset(KEYRING, "version", 1)
    client.config_set("min-replicas-to-write", 1)
    try:
        with pytest.raises(Exception, match="too few replicas"):
            await worker.read()
        assert (worker.accepts(kept), worker.accepts(token)) == (True, False)
        assert "cannot be put back yet" in worker.authenticator.notes[0]
    finally:
        client.config_set("min-replicas-to-write", 0)
    await worker.read()
    assert "they were put back" in worker.authenticator.notes[0]


async def test_the_number_of_revocations_is_limited_and_the_newest_are_kept(
    connection: Connection, client: "redis.Redis"
) -> None:
    worker = Worker(connection)
    key, token = await worker.make()
    client.hset(REVOKED, mapping={f"{number:012x}": number + 1 for number in range(REVOKED_AT_MOST)})
    await worker.revoke(key.id, None)
    assert client.hlen(REVOKED) == REVOKED_AT_MOST + 1, "and the version"
    assert client.hexists(REVOKED, key.id)
    assert not client.hexists(REVOKED, "0" * 12)
    assert newest({"b": 2, "a": 1}) == {"a": 1, "b": 2}
    await worker.read()
    assert not worker.accepts(token)
    assert worker.telemetry.keys_restored == 0
