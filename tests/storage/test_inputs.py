"""Raw inputs beside the blocks of kept predictions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.storage.client import Connection
from app.storage.predictions import Block, PredictionStore
from app.storage.redis_keys import keys_of
from app.storage.review.inputs import (
    ENTRY_BYTES,
    KINDS,
    InputStore,
    RawInput,
    field_of,
    inputs_key,
    pack_input,
    unpack_input,
)
from tests.servers import Server

pytestmark = pytest.mark.anyio
LONG = RawInput("url", 99 * "a")
NAME = "0123456789ab-1"
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


def block(name: str, *urls: str, tenant: str = "acme") -> Block:
    """Predictions of ten bytes each, with their URLs."""
    made = Block(tenant, name, pieces=[bytes(10 * len(urls))], count=len(urls), size=10 * len(urls))
    made.inputs = [(10 * number, RawInput("url", url)) for number, url in enumerate(urls)]
    made.pack_inputs()
    return made


def stored_bytes(made: Block) -> int:
    return made.size + sum(map(len, made.packed[1::2])) + ENTRY_BYTES * len(made.inputs)


@given(kind=st.sampled_from(sorted(KINDS)), raw=texts | st.binary(max_size=200) | texts.map(lambda text: 50 * text))
def test_an_input_is_read_as_it_was_given(kind: str, raw: str | bytes) -> None:
    assert unpack_input(pack_input(RawInput(kind, raw))) == (kind, raw)


def test_a_long_input_is_compressed() -> None:
    mail = RawInput("email", b"Subject: hello\n\n" + 1000 * b"a word and ")
    assert len(pack_input(mail)) < len(mail.raw) / 20


@pytest.mark.parametrize(
    "stored", [b"", b"usz", b"uszxx", b"xsp", b"u?p", b"us?", pack_input(RawInput("url", 99 * "a"))[:-1]]
)
def test_what_is_damaged_is_no_input(stored: bytes) -> None:
    assert unpack_input(stored) is None


async def test_an_input_belongs_to_a_prediction_of_its_tenant(connection: Connection) -> None:
    store, inputs = PredictionStore(connection, 60, 100), InputStore(connection)
    await store.write([block(NAME, "a.b/c", "d.e/" + 99 * "f")])
    assert await inputs.read("acme", f"{NAME}-0-a") == ("url", "a.b/c")
    assert await inputs.read("acme", f"{NAME}-a-a") == ("url", "d.e/" + 99 * "f")
    for tenant, prediction_id in (("other", f"{NAME}-0-a"), ("acme", f"{NAME}-1-a"), ("acme", "x"), ("acme", "")):
        assert await inputs.read(tenant, prediction_id) is None


async def test_inputs_count_and_go_with_their_block(connection: Connection) -> None:
    first, second = block("b1", "a.b/c"), block("b2", "d.e/" + 99 * "f", "g.h")
    store = PredictionStore(connection, 60, 100, stored_bytes(first) + stored_bytes(second))
    await store.write([first, second])
    assert await store.bytes_by_tenant() == {"acme": stored_bytes(first) + stored_bytes(second)}
    assert await connection.redis.exists(inputs_key("acme", "b1")) == 1
    third = block("b3", "x.y")
    await store.write([third])
    assert await connection.redis.exists(inputs_key("acme", "b1")) == 0
    assert await store.bytes_by_tenant() == {"acme": stored_bytes(second) + stored_bytes(third)}
    await store.free({"acme": 1 << 20}, 0, 0)
    assert await store.bytes_by_tenant() == {"acme": 0}
    assert [key async for key in connection.redis.scan_iter("*:inputs")] == []


async def test_inputs_expire_with_their_block(connection: Connection) -> None:
    await PredictionStore(connection, 60, 100).write([block("b", "a.b")])
    assert 0 < await connection.redis.pttl(inputs_key("acme", "b")) <= 60_000


async def test_a_block_without_inputs_has_no_hash(connection: Connection, store: Server) -> None:
    await PredictionStore(connection, 60, 100).write([Block("acme", "b", [b"x"], 1, 1)])
    with store.client() as client:
        assert not client.exists(inputs_key("acme", "b"))
        assert client.hget(keys_of("acme").kept, "acme") == b"1"


def test_the_field_is_the_offset_as_the_id_of_the_prediction_has_it() -> None:
    assert field_of(255) == b"ff"
