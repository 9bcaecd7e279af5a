import pytest

from app.storage.client import Connection
from app.storage.predictions import Block, PredictionStore
from app.storage.redis_keys import keys_of

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
