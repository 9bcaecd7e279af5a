import pytest

from app.storage.connecting import Connection
from app.storage.feeds import Feeds
from app.storage.log import Draft, Group, Log

pytestmark = pytest.mark.anyio


async def test_a_feed_tells_whose_log_has_grown_and_only_what_is_new(connection: Connection) -> None:
    log, feeds = Log(connection, 60), Feeds(connection)
    born = await log.create("acme")
    await log.append([Group("acme", born, [Draft(b"before")])])
    await feeds.begin()
    other = await log.create("other")
    await log.append([Group("acme", born, [Draft(b"a"), Draft(b"b")]), Group("other", other, [Draft(b"c")])])
    assert await feeds.changes() | {"acme": 3, "other": 1} == {"acme": 3, "other": 1}
    await log.delete("acme")
    changes: dict[str, int] = {}
    while "acme" not in changes:
        changes |= await feeds.changes()
    assert changes["acme"] in {3, -1}


async def test_nothing_new_is_no_change(connection: Connection) -> None:
    feeds = Feeds(connection)
    await feeds.begin()
    assert await feeds.changes() == {}
