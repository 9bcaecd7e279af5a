import asyncio

import pytest

from app.storage.client import Connection
from app.storage.errors import StoreDamaged
from app.storage.event_log import Appended, Draft, Duplicate, Entry, EventLog, Group, Refused, next_chain
from app.storage.metadata import Position
from app.storage.redis_keys import SHARDS, keys_of, shard_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def log(connection: Connection) -> EventLog:
    return EventLog(connection, feedback_id_ttl_seconds=60)


async def append(log: EventLog, position: Position, *drafts: Draft, only_here: bool = False) -> Appended | Refused:
    (answer,) = await log.append([Group("acme", position, drafts, only_here)])
    assert isinstance(answer, Appended | Refused)
    return answer


def after(position: Position, answer: Appended | Refused) -> Position:
    assert isinstance(answer, Appended)
    last = answer.results[-1]
    assert isinstance(last, Entry)
    return Position(position.incarnation, last.version, last.chain)


async def test_versions_start_at_one_and_entries_form_a_chain(log: EventLog) -> None:
    created = await log.create("acme")
    answer = await append(log, created, Draft(b"a"), Draft(b"b"))
    first = Entry(1, b"a", next_chain(created.chain, b"a"))
    second = Entry(2, b"b", next_chain(first.chain, b"b"))
    assert answer == Appended(created, [first, second])
    assert await log.read("acme", 0, 10) == [first, second]
    assert await log.read("acme", 1, 10) == [second]
    assert (await log.meta("acme")).position == Position(created.incarnation, 2, second.chain)


async def test_creating_twice_finds_the_same_log(log: EventLog) -> None:
    assert await log.create("acme") == await log.create("acme")


async def test_the_first_event_is_part_of_the_creation(log: EventLog) -> None:
    created = await log.create("acme", b"settings")
    assert await log.read("acme", 0, 10) == [Entry(1, b"settings", next_chain(created.incarnation, b"settings"))]
    assert created == (await log.meta("acme")).position == await log.create("acme", b"others")


async def test_a_feedback_id_is_appended_once(log: EventLog) -> None:
    created = await log.create("acme")
    await append(log, created, Draft(b"a", "id-1", "one"))
    again = await append(log, created, Draft(b"a", "id-1", "one"), Draft(b"b"), Draft(b"c", "id-1", "other"))
    assert isinstance(again, Appended)
    assert again.before.version == 1
    assert again.results[0] == again.results[2] == Duplicate(1, "one")
    assert isinstance(again.results[1], Entry)
    assert again.results[1].version == 2


async def test_concurrent_appends_with_one_id_have_one_effect(log: EventLog) -> None:
    created = await log.create("acme")
    answers = await asyncio.gather(*(append(log, created, Draft(b"a", "id", "f")) for _ in range(20)))
    results = [answer.results[0] for answer in answers if isinstance(answer, Appended)]
    assert sum(isinstance(result, Entry) for result in results) == 1
    assert len(await log.read("acme", 0, 100)) == 1


@pytest.mark.parametrize("damage", [("RPUSH", "x"), ("SET", "not a record")])
async def test_a_damaged_record_of_a_feedback_id_leaves_no_half_append(
    log: EventLog, connection: Connection, damage: tuple[str, str]
) -> None:
    created = await log.create("acme")
    command, value = damage
    await connection.ask(command, keys_of("acme").feedback(created.incarnation, "id"), value)
    drafts = [Draft(b"a"), Draft(b"b", "id", "f"), Draft(b"c")]
    position = after(created, await append(log, created, *drafts))
    assert [entry.version for entry in await log.read("acme", 0, 10)] == [1, 2, 3]
    assert (await log.meta("acme")).position == position
    again = await append(log, position, drafts[1])
    assert isinstance(again, Appended)
    assert again.results == [Duplicate(2, "f")]


async def test_groups_of_several_tenants_share_a_round_trip(log: EventLog) -> None:
    positions = [await log.create(f"t{number}") for number in range(5)]
    groups = [Group(f"t{number}", position, [Draft(b"x")]) for number, position in enumerate(positions)]
    answers = await log.append(groups)
    assert all(isinstance(answer, Appended) and answer.results[0].version == 1 for answer in answers)


async def test_an_append_by_a_worker_ahead_of_the_log_is_refused(log: EventLog) -> None:
    created = await log.create("acme")
    assert await append(log, Position(created.incarnation, 3, "c"), Draft(b"a")) == Refused("behind")
    assert await log.read("acme", 0, 10) == []


async def test_a_deleted_tenant_differs_from_an_emptied_store(log: EventLog) -> None:
    created = await log.create("acme")
    assert await append(log, Position("another", 0, "another"), Draft(b"a")) == Refused("other")
    await log.delete("acme")
    assert await append(log, created, Draft(b"a")) == Refused("deleted")
    assert (await log.meta("acme")).position is None
    assert created.incarnation in (await log.meta("acme")).earlier
    assert await append(log, Position("never", 0, "never"), Draft(b"a")) == Refused("gone")


async def test_a_deleted_tenant_can_be_created_again(log: EventLog) -> None:
    first = await log.create("acme")
    await append(log, first, Draft(b"a", "id", "f"))
    assert await log.delete("acme")
    assert not await log.delete("acme")
    second = await log.create("acme")
    assert second.version == 0
    assert second.incarnation != first.incarnation
    answer = await append(log, second, Draft(b"a", "id", "f"))
    assert isinstance(answer, Appended)
    assert isinstance(answer.results[0], Entry), "the feedback_id was used in another incarnation"


async def test_lost_entries_are_appended_only_at_the_expected_position(log: EventLog) -> None:
    created = await log.create("acme")
    here = after(created, await append(log, created, Draft(b"a")))
    assert await append(log, created, Draft(b"b"), only_here=True) == Refused("other")
    assert after(here, await append(log, here, Draft(b"b"), only_here=True)).version == 2


async def test_a_script_that_is_not_cached_is_sent_again(log: EventLog, connection: Connection) -> None:
    created = await log.create("acme")
    await connection.redis.script_flush()
    assert isinstance(await append(log, created, Draft(b"a")), Appended)


async def test_tenants_are_listed_in_order_and_by_pages(log: EventLog) -> None:
    for name in ("b", "a", "c", "B"):
        await log.create(name)
    assert await log.tenants("", 10) == ["B", "a", "b", "c"]
    assert await log.tenants("a", 1) == ["b"]
    assert await log.count() == 4


def test_all_keys_of_a_tenant_share_a_hash_tag() -> None:
    keys = keys_of("acme")
    tag = f"{{{shard_of('acme')}}}"
    names = [keys.meta, keys.log, keys.changes, keys.headers, keys.chunks, keys.aside, f"{keys.pending}:b"]
    assert all(tag in name for name in [*names, keys.feedback("born", "id"), keys.snapshot_lock, keys.pending_count])
    assert shard_of("acme") in SHARDS


async def test_changed_bytes_are_read_as_another_position_and_not_as_an_error(
    log: EventLog, connection: Connection
) -> None:
    position = await log.create("acme")
    await append(log, position, Draft(b"first"))
    await connection.ask("HSET", keys_of("acme").meta, "chain", b"\xff" * 40, "born", b"\xff" * 32)
    found = (await log.meta("acme")).position
    assert found is not None
    assert found != position
    assert isinstance(await append(log, found, Draft(b"second")), Refused)
    await connection.ask("XADD", keys_of("acme").log, "0-2", "p", b"second", "c", b"\xff" * 40)
    assert (await log.read("acme", 1, 1))[0].chain != ""
    await connection.ask("XADD", keys_of("acme").log, "0-3", "q", b"third")
    with pytest.raises(StoreDamaged, match="lacks its payload or its chain"):
        await log.read("acme", 2, 1)
