import asyncio
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

from app.storage.change_feed import ChangeFeeds
from app.storage.client import Connection
from app.storage.errors import StoreUnavailable
from app.storage.event_log import Appended, Draft, EventLog, Group
from app.storage.metadata import Position
from app.storage.redis_keys import keys_of
from tests.servers import Server, cluster
from tests.storage.connections import connected

pytestmark = pytest.mark.anyio


async def test_a_feed_announces_only_new_changes(connection: Connection) -> None:
    log, feeds = EventLog(connection, 60), ChangeFeeds(connection)
    created = await log.create("acme")
    await log.append([Group("acme", created, [Draft(b"before")])])
    await feeds.begin()
    other = await log.create("other")
    await log.append([Group("acme", created, [Draft(b"a"), Draft(b"b")]), Group("other", other, [Draft(b"c")])])
    assert await feeds.changes() | {"acme": 3, "other": 1} == {"acme": 3, "other": 1}
    await log.delete("acme")
    changes: dict[str, int] = {}
    while "acme" not in changes:
        changes |= await feeds.changes()
    assert changes["acme"] in {3, -1}


async def test_without_changes_a_read_returns_nothing(connection: Connection) -> None:
    feeds = ChangeFeeds(connection)
    await feeds.begin()
    assert await feeds.changes() == {}


def damage_type(store: Server, feed: str) -> None:
    store.ask("SET", feed, "no stream")


def damage_entries(store: Server, feed: str) -> None:
    for fields in (("x", "y"), ("t", "acme", "v", "many"), ("t", b"\xff", "v", "1"), ("v", "1")):
        store.ask("XADD", feed, "*", *fields)


def damage_last_id(store: Server, feed: str) -> None:
    """No id is left for another entry."""
    store.ask("DEL", feed)
    store.ask("XADD", feed, f"{2**64 - 1}-{2**64 - 1}", "t", "acme", "v", "1")


DAMAGES = (damage_type, damage_entries, damage_last_id)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_feed_heals_and_the_others_continue(
    damage: Callable[[Server, str], None], store: Server, connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    log, feeds = EventLog(connection, 60), ChangeFeeds(connection)
    created = {name: await log.create(name) for name in ("acme", "other")}
    await feeds.begin()
    damage(store, keys_of("acme").changes)
    assert await appended(log, {"other": created["other"]}) == {"other"}
    assert await collect(feeds, {"other"}) | {"acme": 1} == {"other": 1, "acme": 1}
    assert await appended(log, {"acme": created["acme"]}) == {"acme"}
    await feeds.return_to_ends()  # as the follower does now and then
    assert await appended(log, {"acme": created["acme"]}) == {"acme"}
    while (await collect(feeds, {"acme"}))["acme"] != 2:
        pass
    assert len([line for line in caplog.messages if "dropped" in line]) <= 1


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_worker_begins_with_a_damaged_feed(
    damage: Callable[[Server, str], None], store: Server, connection: Connection
) -> None:
    log, feeds = EventLog(connection, 60), ChangeFeeds(connection)
    created = await log.create("acme")
    damage(store, keys_of("acme").changes)
    await feeds.begin()
    assert await appended(log, {"acme": created}) == {"acme"}
    await feeds.return_to_ends()
    assert await appended(log, {"acme": created}) == {"acme"}
    while (await collect(feeds, {"acme"}))["acme"] != 2:
        pass


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_feed_never_leaves_half_a_change(
    damage: Callable[[Server, str], None], store: Server, connection: Connection
) -> None:
    log = EventLog(connection, 60)
    created = await log.create("acme")
    damage(store, keys_of("acme").changes)
    (first,) = await log.append([Group("acme", created, [Draft(b"a", "id-1", "f")])])
    assert isinstance(first, Appended)
    assert (await log.meta("acme")).position == first.after
    assert [entry.payload for entry in await log.read("acme", 0, 10)] == [b"a"]
    for change in (replace(log, first.after), log.delete("acme")):
        damage(store, keys_of("acme").changes)
        assert await change
    assert (await log.meta("acme")).position is None


async def replace(log: EventLog, position: Position) -> bool:
    new = Position("f" * 32, 7, "c" * 40)
    return await log.seed("acme", new, b"header", instead_of=position.incarnation)


async def test_a_position_beyond_the_end_of_a_feed_goes_back(store: Server, connection: Connection) -> None:
    """The store's clock was ahead, and then its data was lost or an older copy restored."""
    log, feeds = EventLog(connection, 60), ChangeFeeds(connection)
    created = await log.create("acme")
    feed = keys_of("acme").changes
    await feeds.begin()
    store.ask("XADD", feed, "99999999999999-1", "t", "acme", "v", "0")
    assert await collect(feeds, {"acme"}) == {"acme": 0}
    store.ask("DEL", feed)
    store.ask("XADD", feed, "5-1", "t", "older", "v", "1")
    await feeds.return_to_ends()
    assert await appended(log, {"acme": created}) == {"acme"}
    assert await collect(feeds, {"acme"}) == {"acme": 1}


@pytest.mark.e2e
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_feed_of_a_cluster_heals(damage: Callable[[Server, str], None], tmp_path: Path) -> None:
    with cluster(tmp_path) as three:
        async with connected(three.url) as connection:
            log, feeds = EventLog(connection, 60), ChangeFeeds(connection)
            created = {name: await log.create(name) for name in ("acme", "other")}
            await feeds.begin()
            feed = keys_of("acme").changes
            (node,) = [node for node in three.nodes if has_slot(node, feed)]
            damage(node, feed)
            assert "other" in await collect(feeds, await appended(log, {"other": created["other"]}))
            await appended(log, {"acme": created["acme"]})
            await feeds.return_to_ends()
            await appended(log, {"acme": created["acme"]})
            assert (await collect(feeds, {"acme"}))["acme"] in {1, 2}


def has_slot(node: Server, key: str) -> bool:
    try:
        return node.ask("EXISTS", key) in {0, 1}
    except ResponseError:
        return False


@pytest.mark.e2e
async def test_while_a_node_is_down_the_feeds_of_the_others_are_followed(tmp_path: Path) -> None:
    names = [f"tenant-{k}" for k in range(24)]  # on all nodes
    with cluster(tmp_path, "--cluster-require-full-coverage", "no") as three:
        async with connected(three.url) as ours, connected(three.url) as theirs:
            feeds, late, log = ChangeFeeds(ours), ChangeFeeds(ours), EventLog(theirs, 60)
            created = {name: await log.create(name) for name in names}
            await feeds.begin()
            three.nodes[0].kill()
            there = await appended(log, created)
            assert 0 < len(there) < len(names)
            assert await collect(feeds, there) == dict.fromkeys(there, 1)
            assert {name for name in names if feeds.is_away(name)} == set(names) - there
            await late.begin()
            for each in (feeds, late):
                await each.recheck()
                assert each.away
                assert each.are_partly_available
            await asyncio.to_thread(three.nodes[0].start)
            await asyncio.to_thread(three.wait_until_ok)
            lost = {name: created[name] for name in names if name not in there}
            assert await appended(log, lost) == lost.keys()
            for each in (feeds, late):
                await each.recheck()  # without consuming changes
                assert not each.away
            assert await collect(feeds, lost.keys()) == dict.fromkeys(lost, 1)
            assert await appended(log, lost) == lost.keys()
            assert await collect(late, lost.keys()) == dict.fromkeys(lost, 2)  # from its own positions


@pytest.mark.e2e
async def test_a_cluster_of_which_no_node_answers_is_unavailable_and_followed_again(tmp_path: Path) -> None:
    with cluster(tmp_path) as three:
        async with connected(three.url) as connection:
            feeds, log = ChangeFeeds(connection), EventLog(connection, 60)
            created = await log.create("acme")
            await feeds.begin()
            for node in three.nodes:
                node.kill()
            for _ in range(2):
                with pytest.raises(StoreUnavailable):
                    await feeds.changes()
            assert not feeds.are_partly_available
            for node in three.nodes:
                await asyncio.to_thread(node.start)
            await asyncio.to_thread(three.wait_until_ok)
            assert await appended(log, {"acme": created}) == {"acme"}
            assert await collect(feeds, {"acme"}) == {"acme": 1}


async def appended(log: EventLog, tenants: dict[str, Position]) -> set[str]:
    """Append an event to each tenant; return those for which that succeeded."""
    answers = await log.append([Group(name, position, [Draft(b"something")]) for name, position in tenants.items()])
    return {name for name, answer in zip(tenants, answers, strict=True) if not isinstance(answer, StoreUnavailable)}


async def collect(feeds: ChangeFeeds, tenants: AbstractSet[str]) -> dict[str, int]:
    """Collect changes until all tenants are named."""
    changes: dict[str, int] = {}
    async with asyncio.timeout(5):
        while not tenants <= changes.keys():
            changes |= await feeds.changes()
    return changes
