import asyncio
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from app.storage.change_feed import ChangeFeeds
from app.storage.client import Connection
from app.storage.errors import StoreUnavailable
from app.storage.event_log import Draft, EventLog, Group, Position
from tests.servers import cluster
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
                await each.recheck_away()
                assert each.away
                assert each.are_partly_available
            await asyncio.to_thread(three.nodes[0].start)
            await asyncio.to_thread(three.wait_until_ok)
            lost = {name: created[name] for name in names if name not in there}
            assert await appended(log, lost) == lost.keys()
            for each in (feeds, late):
                await each.recheck_away()  # without consuming changes
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
