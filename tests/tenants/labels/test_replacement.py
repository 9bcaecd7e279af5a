"""A second label for a prediction: the state is as if the first had never been given, and the log has both."""

import asyncio
from pathlib import Path

import msgspec
import numpy as np
import pytest

from app.learning.events import ReplacedLabel
from app.storage.event_codec import FeedbackRecord, LongFeedbackRecord, RetractionRecord
from app.storage.redis_keys import keys_of
from app.tenants.errors import FeedbackConflict, RetractionTooOld
from app.tenants.labels.stored_labels import LabelFilter
from app.tenants.registry import Tenants
from app.tenants.tenant import Feedback, FeedbackResult
from kernels.registry import ALGORITHMS
from tests.servers import Server
from tests.tenants.labels.helpers import MANY, NAME, SHORT, check, retract
from tests.tenants.workers import (
    copy_of,
    digest,
    fail_over_to,
    feedback,
    give,
    stored_entries,
    stored_records,
    worker,
)

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


def labelled(number: int, prediction: int, feedback_id: str | None = None, moderator: str | None = None) -> Feedback:
    """Return a label for a prediction; the input depends on the prediction alone."""
    given, label = feedback(prediction), 1 if number % 2 else -1
    prediction_id = f"0123456789ab-1-{prediction:x}-5"
    return Feedback(label, given.example, feedback_id, moderator, prediction_id)


async def test_the_second_label_takes_the_place_of_the_first(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as one, worker(store.url, tmp_path) as other:
        await give(one, NAME, *(feedback(number) for number in range(20)))
        await give(one, NAME, labelled(1, 7, "first", "ann"))
        await give(one, NAME, *(feedback(number) for number in range(30, 40)))
        (result,) = await give(other, NAME, labelled(2, 7, "second", "bob"))
        assert result.outcome.replaced == ReplacedLabel(21, 1, "first", "ann")
        assert (result.duplicate, result.outcome.version) == (False, 33)
        await check(store, one, other)
        (again,) = await give(one, NAME, labelled(2, 7, "second", "bob"))
        assert again == FeedbackResult("second", result.outcome, duplicate=True)
        (first,) = await give(one, NAME, labelled(1, 7, "first", "ann"))
        assert (first.duplicate, first.outcome.version, first.outcome.replaced) == (True, 21, None)
        retraction, second = (await stored_records(store.url, NAME))[-2:]
        assert isinstance(retraction, RetractionRecord)
        assert (retraction.first_version, retraction.moderator) == (21, "bob")
        assert isinstance(second, LongFeedbackRecord)
        assert second.replaces == result.outcome.replaced
        found = [each async for each in await one.labels(NAME, LabelFilter(prediction_id="0123456789ab-1-7-5"))]
        assert [(label.feedback_id, label.moderator) for label, _ in found] == [("second", "bob"), ("first", "ann")]
        assert [taken_back and taken_back.version for _, taken_back in found] == [None, 32]
    async with worker(store.url, tmp_path) as restarted:
        (again,) = await give(restarted, NAME, labelled(2, 7, "second", "bob"))
        assert again == FeedbackResult("second", result.outcome, duplicate=True)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_random_labels_of_few_predictions(store: Server, tmp_path: Path, algorithm: str) -> None:
    rng = np.random.default_rng(len(algorithm))
    async with worker(store.url, tmp_path, snapshots=MANY) as one, worker(store.url, tmp_path, snapshots=MANY) as other:
        await one.configure(NAME, {"algorithm": algorithm})
        for number in range(15):
            items = [labelled(int(rng.integers(0, 2)), int(k), f"id-{number}-{k}") for k in rng.integers(0, 40, 4)]
            tenants = (one, other)[number % 2]
            items = list({item.feedback_id: item for item in items}.values())
            results = await give(tenants, NAME, *items)
            assert not any(result.duplicate for result in results)
            if rng.random() < 0.3:
                await retract(other, str(items[0].feedback_id))
            await check(store, one, other)
            if rng.random() < 0.3:
                await one.snapshot(NAME)
    async with worker(store.url, tmp_path) as restarted:
        await restarted.hold(NAME)
        await check(store, restarted)


async def standing(tenants: Tenants) -> list[str | None]:
    """Return the ids of the labels that stand, the oldest first."""
    found = [each async for each in await tenants.labels(NAME, LabelFilter())]
    return [label.feedback_id for label, taken_back in reversed(found) if taken_back is None]


async def test_labels_of_one_prediction_in_one_request_and_at_once(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as one, worker(store.url, tmp_path) as other:
        await give(one, NAME, labelled(1, 1, "a"), labelled(2, 1, "b"), labelled(1, 1, "c"), labelled(1, 2, "d"))
        assert await standing(one) == ["d", "c"]
        await asyncio.gather(
            *(give((one, other)[number % 2], NAME, labelled(number, 1, f"e{number}")) for number in range(12))
        )
        last = await standing(one)
        assert (last[0], len(last)) == ("d", 2)
        records = await stored_records(store.url, NAME)
        assert sum(isinstance(record, FeedbackRecord) for record in records) == 16
        await check(store, one, other)


async def test_one_feedback_id_for_second_labels_of_two_predictions_is_a_conflict(
    store: Server, tmp_path: Path
) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, labelled(1, 1, "a"), labelled(1, 2, "b"))
        tenant = await tenants.hold(NAME)
        results = await tenant.give([labelled(2, 1, "same"), labelled(2, 2, "same"), labelled(2, 2, "c")])
        assert isinstance(results[0], FeedbackResult)
        assert isinstance(results[1], FeedbackConflict)
        assert isinstance(results[2], FeedbackResult)
        assert results[2].outcome.replaced == ReplacedLabel(2, 1, "b", None)
        assert await standing(tenants) == ["same", "c"]
        await check(store, tenants)


async def test_second_labels_of_one_request_read_the_log_once(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(labelled(1, number) for number in range(101)))
        before = reads(store)
        await give(tenants, NAME, labelled(2, 100))
        of_one = reads(store) - before
        await give(tenants, NAME, *(labelled(2, number) for number in range(100)))
        assert reads(store) - before - of_one <= 2 * (100 + of_one)  # each label and the reach, but the log only once


async def test_a_second_label_does_not_wait_for_a_retraction_of_another_tenant(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "other", labelled(1, 1, "first"))
        await give(tenants, NAME, *(feedback(number, f"id-{number}") for number in range(1500)))
        preview = asyncio.create_task(retract(tenants, "id-0", dry_run=True))
        await asyncio.sleep(0)  # it begins
        (result,) = await give(tenants, "other", labelled(2, 1, "second"))
        assert result.outcome.replaced is not None
        assert not preview.done()
        assert len((await preview).labels) == 1


async def test_second_labels_during_a_retraction_of_the_same_tenant(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(labelled(1, number, f"id-{number}") for number in range(300)))
        retraction = asyncio.create_task(retract(tenants, *(f"id-{number}" for number in range(0, 300, 2))))
        results = await asyncio.gather(
            *(give(tenants, NAME, labelled(2, number, f"second-{number}")) for number in range(20))
        )
        await retraction
        assert not any(result.duplicate for (result,) in results)
        assert len(await standing(tenants)) == 150 + 10
        await check(store, tenants)


def reads(store: Server) -> int:
    """How often a range of a log was read."""
    return int(store.ask("INFO", "commandstats")["cmdstat_xrange"]["calls"])


async def test_a_label_that_was_taken_back_is_not_replaced(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(feedback(number) for number in range(5)))
        await give(tenants, NAME, labelled(1, 1, "first"))
        await retract(tenants, "first")
        (result,) = await give(tenants, NAME, labelled(2, 1, "second"))
        assert (result.outcome.version, result.outcome.replaced) == (8, None)
        (result,) = await give(tenants, NAME, labelled(1, 1, "third"))
        assert result.outcome.replaced == ReplacedLabel(8, -1, "second")
        assert (await standing(tenants))[5:] == ["third"]
        await check(store, tenants)


async def test_retracting_the_second_label_restores_the_first(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, labelled(1, 1, "first"))
        await give(tenants, NAME, labelled(2, 1, "second"))
        await retract(tenants, "second")
        assert await standing(tenants) == ["first"]
        await check(store, tenants)


async def test_a_label_that_the_log_has_no_more_cannot_be_replaced(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=SHORT) as tenants:
        await give(tenants, NAME, labelled(1, 1, "first"), feedback(1), feedback(2))
        await tenants.snapshot(NAME)
        await give(tenants, NAME, labelled(1, 2, "other"))
        before = await digest(tenants, NAME)
        tenant = await tenants.hold(NAME)
        refused, learnt = await tenant.give([labelled(2, 1, "second"), labelled(1, 3, "new")])
        assert isinstance(refused, RetractionTooOld)
        assert "has a label, version 1," in str(refused)
        assert isinstance(learnt, FeedbackResult)
        assert (await digest(tenants, NAME))[0] == before[0] + 1


async def test_a_prediction_of_an_earlier_incarnation_has_no_label(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, labelled(1, 1))
        await tenants.delete(NAME)
        (result,) = await give(tenants, NAME, labelled(2, 1))
        assert (result.outcome.version, result.outcome.replaced) == (1, None)


async def test_a_second_label_survives_a_failover_to_a_replica_behind(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(feedback(number) for number in range(10)))
        await give(tenants, NAME, labelled(1, 1, "first"))
        copy = copy_of(store)
        await give(tenants, NAME, labelled(2, 1, "second"))
        fail_over_to(store, copy)
        await tenants.follower.compare_once()
        assert (await standing(tenants))[10:] == ["second"]
        await check(store, tenants)
        (third,) = await give(tenants, NAME, labelled(1, 1, "third"))
        assert third.outcome.replaced is not None
        assert third.outcome.replaced.feedback_id == "second"
        assert (await standing(tenants))[10:] == ["third"]
        await check(store, tenants)


async def test_both_labels_are_lost_and_appended_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(feedback(number) for number in range(10)))
        copy = copy_of(store)
        await give(tenants, NAME, labelled(1, 1, "first"))
        await give(tenants, NAME, labelled(2, 1, "second"))
        fail_over_to(store, copy)
        await tenants.follower.compare_once()
        assert (await standing(tenants))[10:] == ["second"]
        await check(store, tenants)


async def test_marks_of_labels_are_small_and_expire(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(labelled(1, number) for number in range(100)))
        incarnation = (await tenants.hold(NAME)).incarnation
        key = f"{keys_of(NAME).prefix}:labels:{incarnation[:8]}:0123456789ab-1"
        assert store.ask("HLEN", key) == 100
        assert store.ask("PTTL", key) > 0
        assert store.ask("MEMORY", "USAGE", key) < 3000


async def test_a_damaged_mark_counts_as_none(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, labelled(1, 1, "first"))
        key = f"{keys_of(NAME).prefix}:labels:{(await tenants.hold(NAME)).incarnation[:8]}:0123456789ab-1"
        store.ask("SET", key, "damaged")
        (result,) = await give(tenants, NAME, labelled(2, 1, "second"))
        assert result.outcome.replaced is None
        assert len(await stored_entries(store.url, NAME)) == 2
        store.ask("DEL", key)
        store.ask("HSET", key, "1-5", 1)
        store.ask("HSET", key, "2-5", 1)  # of another prediction
        (result,) = await give(tenants, NAME, labelled(2, 2, "third"))
        assert (result.outcome.replaced, result.outcome.version) == (None, 3)


async def test_the_label_rules_hold_for_second_labels(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        first = labelled(1, 1, "first")
        await give(tenants, NAME, first)
        tenant = await tenants.hold(NAME)
        await give(tenants, NAME, labelled(2, 1, "second"))
        (conflict,) = await tenant.give([msgspec.structs.replace(first, label=-first.label)])
        assert type(conflict).__name__ == "FeedbackConflict"
