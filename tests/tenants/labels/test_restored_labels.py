"""A label that had replaced another one is taken back: the other one stands again."""

import asyncio
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from app.learning.events import FeedbackGiven, RetractionMade
from app.learning.state import TenantState, advance
from app.storage.event_codec import decode, label_hash
from app.storage.redis_keys import keys_of
from app.tenants.errors import RetractionTooOld
from app.tenants.labels.stored_labels import LabelFilter, StoredLabel, label_of
from app.tenants.registry import Tenants
from tests.servers import Server
from tests.tenants.labels.helpers import MANY, NAME, has_applied, retract
from tests.tenants.labels.test_replacement import labelled, standing
from tests.tenants.workers import copy_of, digest, fail_over_to, feedback, give, stored_entries, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


def unasked(labels: list[StoredLabel], asked: set[str]) -> set[bytes]:
    """Return the label of each prediction that must stand: the last one that nobody has asked to take back."""
    last: dict[str | None, bytes] = {}
    for label in labels:
        if label.feedback_id not in asked:
            last[label.prediction_id] = label.hash
    return set(last.values())


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_what_nobody_takes_back_stands_again_in_any_order(store: Server, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given, asked = 0, set[str]()
    async with worker(store.url, tmp_path, snapshots=MANY) as one, worker(store.url, tmp_path, snapshots=MANY) as other:
        for step in range(60):
            tenants = (one, other)[int(rng.integers(2))]
            if step < 5 or rng.random() < 0.5:
                items = [
                    labelled(int(rng.integers(2)), int(k), f"id-{given + n}") for n, k in enumerate(rng.choice(6, 3))
                ]
                given += len(items)
                await give(tenants, NAME, *items)
            elif rng.random() < 0.3:
                await tenants.snapshot(NAME)
            else:
                ids = {f"id-{k}" for k in rng.integers(0, given, 3)}
                dry = await retract(tenants, *ids, dry_run=True)
                done = await retract(tenants, *ids)
                assert (dry.labels, dry.restored, dry.already) == (done.labels, done.restored, done.already)
                assert (dry.after, len(done.labels), done.already) == (done.after, len(ids - asked), len(ids & asked))
                asked |= ids
            await check_unasked(store, asked, one, other)
    async with worker(store.url, tmp_path) as restarted:
        await check_unasked(store, asked, restarted)


async def check_unasked(store: Server, asked: set[str], *workers: Tenants) -> None:
    """Check that the state is that of a log with only the labels that must stand; no event of the log is asked."""
    entries = await stored_entries(store.url, NAME)
    labels = [label for entry in entries if (label := label_of(entry)) is not None]
    wanted, state = unasked(labels, asked), TenantState()
    for entry in entries:
        event = decode(entry.payload)
        if not isinstance(event, RetractionMade) and (
            not isinstance(event, FeedbackGiven) or label_hash(entry.payload) in wanted
        ):
            advance(state, event)
    state.version = entries[-1].version
    for tenants in workers:
        tenant = await tenants.hold(NAME)
        await tenants.follower.compare_once()
        await until(partial(has_applied, tenant, state.version))
        assert await digest(tenants, NAME) == (state.version, state.digest)
        found = [each async for each in await tenants.labels(NAME, LabelFilter())]
        assert {label.hash for label, taken_back in found if taken_back is None} == wanted


async def test_a_restored_label_can_be_replaced_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as one, worker(store.url, tmp_path) as other:
        await give(one, NAME, labelled(1, 1, "a"), labelled(2, 1, "b"), labelled(1, 1, "c"), labelled(1, 2, "d"))
        assert (await retract(one, "b")).restored == 0
        assert await standing(one) == ["d", "c"]
        dry, done = await retract(other, "c", dry_run=True), await retract(other, "c")
        assert (dry.restored, done.restored, done.already) == (1, 1, 0)
        assert await standing(one) == ["a", "d"]
        (result,) = await give(other, NAME, labelled(2, 1, "e"))
        assert result.outcome.replaced is not None
        assert result.outcome.replaced.feedback_id == "a"
        assert await standing(one) == ["d", "e"]
        assert (await retract(one, "a", "e")).restored == 0
        (result,) = await give(one, NAME, labelled(2, 1, "f"))
        assert result.outcome.replaced is None
        await check_unasked(store, {"a", "b", "c", "e"}, one, other)


async def test_second_labels_and_retractions_of_them_at_once(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as one, worker(store.url, tmp_path) as other:
        await give(one, NAME, *(labelled(1, k, f"a-{k}") for k in range(5)))
        await give(one, NAME, *(labelled(2, k, f"b-{k}") for k in range(5)))
        await asyncio.gather(
            *(give((one, other)[k % 2], NAME, labelled(1, k, f"c-{k}")) for k in range(5)),
            *(retract((other, one)[k % 2], f"b-{k}") for k in range(5)),
        )
        await check_unasked(store, {f"b-{k}" for k in range(5)}, one, other)


async def test_a_restored_label_survives_a_failover(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as one:
        await give(one, NAME, labelled(1, 1, "a"), labelled(1, 2, "d"))
        await give(one, NAME, labelled(2, 1, "b"))
        copy = copy_of(store)
        await retract(one, "b")
        fail_over_to(store, copy)
        await one.follower.compare_once()
        await check_unasked(store, {"b"}, one)
        (result,) = await give(one, NAME, labelled(2, 1, "c"))
        assert result.outcome.replaced is not None
        assert result.outcome.replaced.feedback_id == "a"
        await check_unasked(store, {"b"}, one)


async def test_a_label_is_not_taken_back_if_what_it_replaced_is_gone(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=MANY) as one:
        await give(one, NAME, labelled(1, 1, "a"), feedback(50))
        await one.snapshot(NAME)
        await give(one, NAME, labelled(2, 1, "b"))
        store.client().xtrim(keys_of(NAME).log, minid="0-2", approximate=False)
        before = await digest(one, NAME)
        with pytest.raises(RetractionTooOld):
            await retract(one, "b")
        assert await digest(one, NAME) == before
