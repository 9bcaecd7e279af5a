"""The keyring in a real store that services of earlier versions share, or have left behind."""

import json
from pathlib import Path

import pytest
import redis

from app.storage.client.connection import Connection
from app.storage.redis_keys import KEYRING, REVOKED
from tests.auth.test_keyring import Worker
from tests.servers import Server

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture
def client(store: Server) -> "redis.Redis":
    return store.client()


async def test_a_service_of_the_version_before_shares_the_keyring(
    connection: Connection, client: "redis.Redis"
) -> None:
    """It deletes the record of a revoked key, increments the version, and knows neither revocations nor revisions."""
    worker = Worker(connection)
    (first, token), (second, other) = await worker.make(), await worker.make()
    assert str(int(client.hget(KEYRING, "version") or b"")).isdigit(), "it reads the version as a number"
    client.hdel(KEYRING, first.id)
    client.hincrby(KEYRING, "version", 1)
    await worker.read()
    assert (worker.accepts(token), worker.accepts(other)) == (False, True)
    assert client.hexists(REVOKED, first.id), "it is a revocation from now on"
    record = json.loads(client.hget(KEYRING, second.id) or b"")
    del record["revision"], record["made_by"]
    client.hset(KEYRING, second.id, json.dumps(record | {"expires_at": 1}))  # rotated
    client.hincrby(KEYRING, "version", 1)
    await worker.read()
    assert not worker.accepts(other)
    assert worker.telemetry.keys_restored == 0


async def test_a_moderator_survives_a_service_that_knows_none(
    connection: Connection, client: "redis.Redis", tmp_path: Path
) -> None:
    """It reads the record without the new fields, and writes it back without them when it changes the key."""
    worker = Worker(connection, tmp_path)
    named = {"moderator": "kim", "speaks_for_others": True}
    key, _ = await worker.authenticator.create(
        "", ["feedback"], ["*"], None, None, moderator="kim", speaks_for_others=True
    )
    record = json.loads(client.hget(KEYRING, key.id) or b"")
    assert named.items() <= record.items()
    assert named.items() <= json.loads((tmp_path / "keys.json").read_text())["keys"][key.id].items()
    for name in named:
        del record[name]
    client.hset(KEYRING, key.id, json.dumps(record | {"revision": 1, "made_by": "0123456789ab"}))
    for hash_key in (KEYRING, REVOKED):
        client.hset(hash_key, "version", 2**61)
    await worker.read()
    found = worker.keyring.keys[key.id]
    assert (found.moderator, found.speaks_for_others, found.made_by) == ("kim", True, "0123456789ab")
    assert named.items() <= json.loads(client.hget(KEYRING, key.id) or b"").items(), "it is put back"


async def test_a_record_without_a_moderator_is_a_key_without_one(
    connection: Connection, client: "redis.Redis", tmp_path: Path
) -> None:
    key, token = await Worker(connection).make()
    record = json.loads(client.hget(KEYRING, key.id) or b"")
    del record["moderator"], record["speaks_for_others"]
    client.hset(KEYRING, key.id, json.dumps(record))
    worker = Worker(connection, tmp_path)
    await worker.read()
    assert worker.authenticator.authorise(token, "predict") == key
    assert worker.telemetry.keys_restored == 0


async def test_a_store_of_the_version_before_is_adopted(
    connection: Connection, client: "redis.Redis", tmp_path: Path
) -> None:
    made, token = await Worker(connection).make()
    record = json.loads(client.hget(KEYRING, made.id) or b"")
    del record["revision"], record["made_by"]
    client.flushall()
    client.hset(KEYRING, mapping={made.id: json.dumps(record), "version": 7})
    worker = Worker(connection, tmp_path)
    await worker.read()
    assert worker.accepts(token)
    assert worker.telemetry.keys_restored == 0
    assert await worker.audited() == []
    assert client.hget(KEYRING, "version") == client.hget(REVOKED, "version")
    assert client.hget(REVOKED, "identity")
