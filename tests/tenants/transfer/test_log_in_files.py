"""A model file with its log: the imported tenant has the same history, and its labels can be taken back."""

from pathlib import Path

import msgspec
import pytest

from app.learning.errors import BadSnapshot
from app.learning.snapshot.model_file import join_file, load, log_in, read_header, split_file, with_log
from app.tenants.labels.stored_labels import LabelFilter
from app.tenants.registry import Tenants
from tests.servers import Server
from tests.tenants.labels.helpers import MANY, NAME, SHORT, check, retract
from tests.tenants.workers import digest, feedback, give, stored_records, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


async def exported(tenants: Tenants, *, has_log: bool = True) -> bytes:
    return b"".join([piece async for piece in await tenants.export(NAME, has_log=has_log)])


def with_other_log(file: bytes, first: int, payloads: list[bytes]) -> bytes:
    """Return a file with another log."""
    header, chunk_bytes = split_file(file)
    plain = msgspec.structs.replace(
        read_header(header), chunks=[each for each in read_header(header).chunks if each.kind != "log"]
    )
    made, log = with_log(msgspec.json.encode(plain), first, [msgspec.msgpack.encode(payloads)])
    return b"".join(bytes(each) for each in join_file(made, lambda chunk: log.get(chunk) or chunk_bytes(chunk)))


async def test_the_history_moves_with_the_model(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=MANY) as tenants:
        for number in range(40):
            await give(tenants, NAME, feedback(number, f"id-{number}"))
        await retract(tenants, "id-3", "id-4")
        await tenants.snapshot(NAME)
        records, before = await stored_records(store.url, NAME), await digest(tenants, NAME)
        file = await exported(tenants)
        assert load(file).digest == before[1]  # as a reader that knows no logs
        await tenants.delete(NAME, purge=True)
        await tenants.imported(NAME, file, replace=False)
        assert await digest(tenants, NAME) == before
        assert await stored_records(store.url, NAME) == records
        (again,) = await give(tenants, NAME, feedback(7, "id-7"))
        assert (again.duplicate, again.outcome.version) == (True, 8)
        await retract(tenants, "id-20")
        await check(store, tenants)
        found = [label async for label, retraction in await tenants.labels(NAME, LabelFilter()) if retraction]
        assert [label.feedback_id for label in found] == ["id-20", "id-4", "id-3"]
    async with worker(store.url, tmp_path) as restarted:
        await check(store, restarted)


async def test_a_log_that_is_trimmed(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=SHORT) as tenants:
        await give(tenants, NAME, *(feedback(number) for number in range(10)))
        await tenants.snapshot(NAME)
        empty = log_in(await exported(tenants))
        assert empty is not None
        assert empty[0] + sum(len(msgspec.msgpack.decode(each)) for each in empty[1]) == 11
        await give(tenants, NAME, feedback(11), feedback(12))
        before, file = await digest(tenants, NAME), await exported(tenants)
        await tenants.imported(NAME, file, replace=True)
        assert await digest(tenants, NAME) == before
        await give(tenants, NAME, feedback(13))
        assert (await digest(tenants, NAME))[0] == 13


async def test_without_a_log_there_is_none(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, feedback(1))
        file = await exported(tenants, has_log=False)
        assert log_in(file) is None
        await tenants.imported("copy", file, replace=False)
        assert await stored_records(store.url, "copy") == []


async def test_a_log_that_does_not_belong_to_the_model_is_refused(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, feedback(1), feedback(2))
        file = await exported(tenants)
        (portion,) = (log_in(file) or (0, []))[1]
        one, two = msgspec.msgpack.decode(portion)
        for first, payloads, sentence in (
            (1, [two, one], "does not lead to its model"),
            (1, [one], "does not end at version 2"),
            (0, [one, two, two], "does not end at version 2"),
            (1, [one, b"x"], "cannot be read"),
        ):
            with pytest.raises(BadSnapshot, match=sentence):
                await tenants.imported("copy", with_other_log(file, first, payloads), replace=False)
        damaged = bytearray(file)
        damaged[-3] ^= 1
        with pytest.raises(BadSnapshot):
            await tenants.imported("copy", bytes(damaged), replace=False)
        assert [each.tenant for each in await tenants.listed("", 10)] == [NAME]
        assert not [key for key in store.ask("KEYS", "*") if b":log:" in key]
