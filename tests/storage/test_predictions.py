import pytest

from app.storage.client import Connection
from app.storage.memory import read_memory
from app.storage.predictions import Block, PredictionStore
from app.storage.redis_keys import keys_of
from tests.servers import Server

pytestmark = pytest.mark.anyio


def block(tenant: str, name: str, *predictions: bytes) -> Block:
    made = Block(tenant, name)
    for prediction in predictions:
        made.pieces += (prediction[:1], prediction[1:])
        made.count += 1
        made.size += len(prediction)
    return made


async def test_a_prediction_is_found_by_block_and_offset(connection: Connection) -> None:
    store = PredictionStore(connection, ttl_seconds=60, at_most=100)
    await store.write([block("acme", "b1", b"one", b"three"), block("other", "b2", b"five")])
    assert await store.read("acme", "b1", 3, 5) == b"three"
    assert await store.read("other", "b2", 0, 4) == b"five"
    assert await store.read("acme", "b2", 0, 4) == b""
    assert await store.read("acme", "b1", 3, 6) == b"three"


async def test_the_oldest_blocks_are_dropped_beyond_the_limit(connection: Connection) -> None:
    store = PredictionStore(connection, ttl_seconds=60, at_most=5)
    for number in range(4):
        await store.write([block("acme", f"b{number}", b"x", b"y")])
    assert await store.read("acme", "b0", 0, 1) == b""
    assert await store.read("acme", "b1", 0, 1) == b""
    assert await store.read("acme", "b2", 0, 1) == b"x"
    assert await store.read("acme", "b3", 1, 1) == b"y"


async def test_predictions_expire(connection: Connection) -> None:
    store = PredictionStore(connection, ttl_seconds=60, at_most=5)
    await store.write([block("acme", "b", b"x")])
    keys = keys_of("acme")
    for key in (f"{keys.pending}:b", keys.pending, keys.pending_count):
        assert 0 < await connection.redis.pttl(key) <= 60_000


async def test_the_oldest_blocks_are_dropped_beyond_the_bytes(connection: Connection) -> None:
    store = PredictionStore(connection, ttl_seconds=60, at_most=100, at_most_bytes=1000)
    for number in range(5):
        await store.write([block("acme", f"b{number}", 300 * b"x"), block("other", f"b{number}", b"y")])
    assert [len(await store.read("acme", f"b{number}", 0, 300)) for number in range(5)] == [0, 0, 300, 300, 300]
    assert await store.read("other", "b0", 0, 1) == b"y"
    assert await store.bytes_by_tenant() == {"acme": 900, "other": 5}
    assert await store.counts(["acme", "other"]) == [3, 5]


async def test_blocks_of_earlier_versions_are_dropped_too(connection: Connection) -> None:
    store, keys = PredictionStore(connection, ttl_seconds=60, at_most=100, at_most_bytes=1000), keys_of("acme")
    for number in range(3):
        await connection.redis.set(f"{keys.pending}:old{number}", 500 * b"x")
        await connection.redis.rpush(keys.pending, f"old{number} 1")
        await connection.redis.incr(keys.pending_count)
    await store.write([block("acme", "b1", 600 * b"x")])
    await store.write([block("acme", "b2", 600 * b"x")])
    assert await connection.redis.lrange(keys.pending, 0, -1) == [b"b2 1 600"]
    assert await store.read("acme", "old2", 0, 500) == b""
    assert await store.bytes_by_tenant() == {"acme": 600}
    assert await store.counts(["acme"]) == [1]


async def test_expired_predictions_are_not_counted(connection: Connection) -> None:
    store, keys = PredictionStore(connection, ttl_seconds=60, at_most=100), keys_of("acme")
    await store.write([block("acme", "b1", 500 * b"x")])
    assert await store.kept_bytes([keys.kept]) == [500]
    await connection.redis.delete(keys.pending, f"{keys.pending}:b1")  # as if expired; the count has gone, or is late
    await store.write([block("acme", "b2", b"xy")])
    assert await store.kept_bytes([keys.kept]) == [2]
    assert await store.counts(["acme"]) == [1]
    await connection.redis.delete(keys.pending, keys.pending_count)
    assert await store.kept_bytes([keys.kept]) == [0]
    assert await store.bytes_by_tenant() == {}


async def test_freeing_drops_the_oldest_blocks_of_a_tenant_down_to_a_level(connection: Connection) -> None:
    store = PredictionStore(connection, ttl_seconds=60, at_most=100)
    for number in range(4):
        await store.write([block("acme", f"b{number}", 100 * b"x"), block("other", f"b{number}", b"y")])
    await store.free(await store.bytes_by_tenant(), 250, target_bytes=0)
    assert await store.bytes_by_tenant() == {"acme": 200, "other": 4}
    assert await store.read("acme", "b1", 0, 1) == b""
    assert await store.read("acme", "b2", 0, 1) == b"x"
    await store.free({"acme": 200}, 0, target_bytes=0)
    assert await store.bytes_by_tenant() == {"acme": 0, "other": 4}
    assert await store.counts(["acme", "other"]) == [0, 4]
    assert await store.kept_bytes([keys_of("acme").kept]) == [0]
    assert await store.bytes_by_tenant() == {"other": 4}


async def test_freeing_takes_no_more_blocks_than_the_excess_needs(connection: Connection) -> None:
    store = PredictionStore(connection, ttl_seconds=60, at_most=100)
    await store.write([block(f"t{number}", "b0", 100 * b"x") for number in range(12)])
    await store.free(await store.bytes_by_tenant(), 83, target_bytes=1000)
    assert sum((await store.bytes_by_tenant()).values()) == 1000


async def test_a_full_store_can_be_freed(store: Server, connection: Connection) -> None:
    kept = PredictionStore(connection, ttl_seconds=60, at_most=100)
    for number in range(4):
        await kept.write([block("acme", f"b{number}", (1 << 20) * b"x")])
    try:
        store.ask("CONFIG", "SET", "maxmemory", 1)
        (refused,) = await kept.write([block("acme", "late", b"x")])
        assert isinstance(refused, BaseException)
        (memory,) = await read_memory(connection)
        assert memory.limit == 1
        assert memory.share > 1.0
        await kept.free(await kept.bytes_by_tenant(), 0, target_bytes=0)
        assert await connection.redis.exists(f"{keys_of('acme').pending}:b3") == 0
        assert await kept.kept_bytes([keys_of("acme").kept]) == [0]
    finally:
        store.ask("CONFIG", "SET", "maxmemory", 0)
