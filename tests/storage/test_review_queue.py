"""Review queues in a real store."""

import asyncio
import math
from pathlib import Path

import pytest

from app.storage.client import Connection
from app.storage.predictions import PredictionStore, Written
from app.storage.redis_keys import keys_of
from app.storage.review.queue import MOST_UNSURE, Leased, LeaseEnded, NotLeased
from tests.servers import cluster
from tests.storage.connections import connected
from tests.storage.review_queues import MINUTE, Desk, at_random, uncertain

pytestmark = pytest.mark.anyio


@pytest.fixture
async def desk(connection: Connection) -> Desk:
    return await Desk(connection).create()


async def test_the_most_expensive_come_first_then_the_random_ones_the_oldest_first(desk: Desk) -> None:
    cheap, dear, also_dear = await desk.add(uncertain(1.0), uncertain(5.0), uncertain(5.0))
    later = await desk.add(at_random(), None, at_random(), at=2_000_000_000_000)
    earlier = await desk.add(at_random(), uncertain(math.nan), uncertain(math.inf), at=1_000_000_000_000)
    expected = [earlier[2], dear, also_dear, cheap, earlier[1], earlier[0], later[0], later[2]]
    assert await desk.lease(limit=20) == expected


async def test_an_item_is_shown_as_it_was_chosen(desk: Desk) -> None:
    (prediction_id,) = await desk.add(at_random(0.125, 0.75), at=1_700_000_000_123)
    found = await desk.leased("aa")
    assert isinstance(found, Leased)
    (item,) = found.items
    assert (item.prediction_id, item.at_milliseconds, item.label, item.score) == (
        prediction_id, 1_700_000_000_123, 1, 0.5,
    )  # fmt: skip
    assert item.chosen == at_random(0.125, 0.75)
    assert (found.changes.waiting, found.changes.leased) == (0, 1)


async def test_no_item_is_leased_twice_at_once(desk: Desk) -> None:
    ids = await desk.add(*[uncertain(float(cost)) for cost in range(50)])
    found = await asyncio.gather(*(desk.lease(f"{person:02x}", 3) for person in range(20)))
    leased = [each for some in found for each in some]
    assert sorted(leased) == sorted(ids), "20 people take all 50, each once"
    assert await desk.sizes() == (0, 50)
    assert await desk.lease("ff") == []


async def test_an_ended_lease_returns_by_itself(desk: Desk) -> None:
    (prediction_id,) = await desk.add(uncertain())
    assert await desk.lease("aa", milliseconds=1) == [prediction_id]
    await asyncio.sleep(0.01)
    found = await desk.leased("bb")
    assert isinstance(found, Leased)
    assert [item.prediction_id for item in found.items] == [prediction_id]
    assert found.changes.expired == 1
    assert await desk.end("skip", prediction_id, "aa") == NotLeased("leased")
    assert isinstance(await desk.end("skip", prediction_id, "bb"), LeaseEnded)


async def test_a_lease_lasts_no_longer_because_the_store_s_clock_was_set_back(desk: Desk) -> None:
    (prediction_id,) = await desk.add(uncertain())
    await desk.lease("aa", milliseconds=300)
    prefix, hour = f"{keys_of('acme').prefix}:review", 3_600_000
    await desk.connection.redis.zincrby(f"{prefix}:leases", hour, prediction_id)  # as if it had been an hour later then
    await desk.connection.redis.hincrby(f"{prefix}:counts", "clock", hour)
    assert await desk.lease("bb") == []
    await asyncio.sleep(0.35)
    assert await desk.lease("bb") == [prediction_id]


async def test_a_renewed_lease_lasts_longer(desk: Desk) -> None:
    (prediction_id,) = await desk.add(uncertain())
    await desk.lease("aa", milliseconds=200)
    ended = await desk.end("renew", prediction_id, milliseconds=MINUTE)
    assert isinstance(ended, LeaseEnded)
    await asyncio.sleep(0.25)
    assert await desk.lease("bb") == []


async def test_a_released_item_is_the_next_again_for_everybody(desk: Desk) -> None:
    dear, _ = await desk.add(uncertain(2.0), uncertain(1.0))
    assert await desk.lease("aa") == [dear]
    for _ in range(2):  # a request that is sent again does no harm
        assert isinstance(await desk.end("release", dear), LeaseEnded)
    assert await desk.lease("aa") == [dear]


@pytest.mark.parametrize("action", ["skip", "unsure"])
async def test_a_passed_item_goes_to_somebody_else(desk: Desk, action: str) -> None:
    dear, cheap = await desk.add(uncertain(2.0), uncertain(1.0))
    assert await desk.lease("aa") == [dear]
    for _ in range(2):
        assert isinstance(await desk.end(action, dear), LeaseEnded)  # type: ignore[arg-type]
    assert await desk.lease("aa", 5) == [cheap]
    found = await desk.leased("bb", 5)
    assert isinstance(found, Leased)
    assert [(item.prediction_id, item.skipped + item.unsure) for item in found.items] == [(dear, 1)]


async def test_after_some_people_were_unsure_an_item_leaves_the_queue(desk: Desk) -> None:
    (prediction_id,) = await desk.add(uncertain())
    for person in range(MOST_UNSURE):
        assert await desk.lease(f"{person:02x}") == [prediction_id]
        await desk.end("unsure", prediction_id, f"{person:02x}")
    assert await desk.lease("ff") == []
    assert await desk.sizes() == (0, 0)
    assert await desk.end("unsure", prediction_id, "00") == NotLeased("gone")


async def test_only_the_lease_or_its_person_ends_it(desk: Desk) -> None:
    (prediction_id,) = await desk.add(uncertain())
    assert await desk.end("skip", prediction_id) == NotLeased("waiting")
    await desk.lease("aa", lease="l7")
    assert await desk.end("skip", prediction_id, "bb") == NotLeased("leased")
    assert await desk.end("skip", prediction_id, "aa", lease="l8") == NotLeased("leased")
    assert isinstance(await desk.end("renew", prediction_id, "bb", lease="l7"), LeaseEnded)
    assert await desk.end("skip", "no-such-id") == NotLeased("gone")


@pytest.mark.parametrize("is_leased", [False, True])
async def test_a_labelled_item_leaves_the_queue_at_once(desk: Desk, is_leased: bool) -> None:
    (prediction_id,) = await desk.add(uncertain())
    if is_leased:
        await desk.lease()
    await desk.label(prediction_id)
    assert await desk.sizes() == (0, 0)
    assert await desk.end("release", prediction_id) == NotLeased("gone")
    assert await desk.lease("bb") == []


async def test_a_label_that_comes_before_its_item_settles_it(desk: Desk) -> None:
    block, (labelled, other) = desk.block(uncertain(), uncertain())
    await desk.label(labelled)
    await desk.predictions.write([block])
    assert await desk.lease("aa", 5) == [other]


async def test_an_item_that_comes_back_with_a_label_is_not_shown(desk: Desk) -> None:
    """As after a failover that has lost what the queue knew, and not the label."""
    labelled, other = await desk.add(uncertain(2.0), uncertain(1.0))
    copies = {key: await desk.connection.redis.dump(key) for key in await desk.keys()}
    await desk.label(labelled)
    for key, value in copies.items():
        await desk.connection.redis.restore(key, 0, value or b"", replace=True)
    assert await desk.lease("aa", 5) == [other]
    assert await desk.sizes() == (0, 1)


async def test_nothing_is_leased_while_the_log_lacks_what_the_caller_has_applied(desk: Desk) -> None:
    await desk.add(uncertain())
    position = (await desk.log.meta("acme")).position
    assert position is not None
    ask = {"holder": "kim", "person": "aa", "lease": "l", "limit": 1, "milliseconds": MINUTE}
    ahead = (position.incarnation, position.version + 1)
    assert await desk.store.lease("acme", applied=ahead, **ask) == NotLeased("behind")  # type: ignore[arg-type]
    found = await desk.store.lease("acme", applied=("another", 7), **ask)  # type: ignore[arg-type]
    assert isinstance(found, Leased)


async def test_an_item_leaves_the_queue_with_its_prediction(desk: Desk) -> None:
    (first,) = await desk.add(uncertain(1.0))
    (second,) = await desk.add(uncertain(2.0))
    (third,) = await desk.add(uncertain(3.0))
    await desk.connection.redis.delete(f"{keys_of('acme').pending}:{first.rsplit('-', 2)[0]}")
    assert await desk.sizes() == (2, 0)
    await desk.connection.redis.delete(f"{keys_of('acme').pending}:{third.rsplit('-', 2)[0]}")
    assert await desk.lease("aa", 5) == [second], "though an older one is still kept"
    for key in await desk.keys():
        assert 0 < await desk.connection.redis.pttl(key) <= 3_600_000


async def test_predictions_that_are_dropped_leave_the_queue(desk: Desk) -> None:
    small = PredictionStore(desk.connection, 3600, at_most=2)
    made = [desk.block(uncertain(), uncertain(), uncertain()) for _ in range(2)]
    await small.write([made[0][0]])
    assert await desk.sizes() == (0, 0), "the block was larger than everything that may be kept"
    await desk.predictions.write([made[1][0]])
    assert await desk.sizes() == (3, 0)


async def test_a_full_queue_drops_the_least_valuable(connection: Connection) -> None:
    desk = await Desk(connection, items=3).create()
    cheap, dear, chance = await desk.add(uncertain(1.0), uncertain(9.0), at_random())
    (dropped,) = await desk.predictions.write([desk.block(uncertain(2.0), uncertain(3.0))[0]])
    assert dropped == Written(2, None)
    assert await desk.sizes() == (3, 0)
    left = await desk.lease("aa", 5)
    assert left[0] == dear
    assert not {cheap, chance} & set(left)
    await desk.add(uncertain(100.0))
    assert await desk.sizes() == (0, 3), "what is leased stays"


async def test_a_queue_has_a_limit_in_bytes(connection: Connection) -> None:
    desk = await Desk(connection, bytes=1000).create()
    await desk.add(*[uncertain(float(cost)) for cost in range(100)])
    waiting, _ = await desk.sizes()
    assert 5 < waiting < 20
    await asyncio.gather(*(desk.label(each) for each in await desk.lease("aa", 50)))
    assert int(await connection.redis.hget(f"{keys_of('acme').prefix}:review:counts", "bytes") or 0) == 0


async def test_one_person_holds_a_limited_number_of_leases(connection: Connection) -> None:
    desk = await Desk(connection, leases=3).create()
    await desk.add(*[uncertain()] * 10)
    first = await desk.lease("aa", 10)
    assert len(first) == 3
    assert await desk.leased("aa") == NotLeased("full")
    assert len(await desk.lease("bb", 10)) == 3
    await desk.end("release", first[0])
    assert len(await desk.lease("aa", 10)) == 1


async def test_counts_say_what_waits_and_for_how_long(desk: Desk) -> None:
    assert await desk.sizes() == (0, 0)
    await desk.add(uncertain(), uncertain(), at_random())
    await desk.lease()
    (found, empty) = await desk.store.counts(["acme", "other"])
    assert not isinstance(found, BaseException)
    assert not isinstance(empty, BaseException)
    assert (found.changes.waiting, found.changes.leased, found.reasons) == (2, 1, {"uncertain": 2, "random": 1})
    assert found.oldest_age_seconds is not None
    assert found.oldest_age_seconds > 1e6, "since the prediction, of 2023"
    assert (empty.oldest_age_seconds, empty.reasons) == (None, {})


async def test_a_deleted_tenant_has_no_queue(desk: Desk) -> None:
    ids = await desk.add(uncertain(), uncertain())
    await desk.lease()
    await desk.end("skip", ids[0])
    await desk.log.delete("acme")
    assert await desk.keys() == set()
    await desk.add(uncertain())
    assert await desk.keys() == set(), "a late write adds nothing"


async def test_a_damaged_queue_keeps_no_label_and_no_prediction_away(desk: Desk) -> None:
    (prediction_id,) = await desk.add(uncertain())
    await desk.connection.redis.set(f"{keys_of('acme').prefix}:review:waiting", "not a set")
    await desk.label(prediction_id)
    block, _ = desk.block(uncertain())
    (answer,) = await desk.predictions.write([block])
    assert isinstance(answer, Written)
    assert await desk.predictions.read("acme", block.name, 0, 1) == b"h"


async def test_the_queue_works_on_a_cluster(tmp_path: Path) -> None:
    with cluster(tmp_path) as nodes:
        async with connected(nodes.url) as connection:
            for tenant in ("acme", "shop", "bank"):
                desk = await Desk(connection, tenant).create()
                dear, cheap = await desk.add(uncertain(2.0), uncertain(1.0))
                assert await desk.lease("aa") == [dear]
                await desk.end("skip", dear)
                await desk.label(cheap)
                assert await desk.lease("aa", 5) == []
                assert await desk.lease("bb", 5) == [dear]


async def test_passed_items_stay_passed_after_keys_of_an_earlier_queue_have_outlasted_it(desk: Desk) -> None:
    (stale,) = await desk.add(uncertain(9.0))
    await desk.lease("aa")
    await desk.end("skip", stale, "aa")
    prefix = f"{keys_of('acme').prefix}:review:"
    shared = ("items", "times", "waiting", "leases", "holders", "held", "passes", "people", "counts", "life")
    await desk.connection.redis.delete(*(prefix + each for each in shared))  # as if the store's clock had jumped
    dear, cheap = await desk.add(uncertain(5.0), uncertain(1.0))
    assert await desk.lease("aa") == [dear]
    await desk.end("skip", dear, "aa")
    assert await desk.lease("aa") == [cheap]
