"""A foreign model whose numbers overflow when it learns: nothing of it is written that could not be read again."""

import asyncio
import logging
import math
from pathlib import Path

import numpy as np
import pytest

from app.learning.errors import ModelNotFinite
from app.learning.events import FeedbackGiven
from app.learning.snapshot.frozen import freeze
from app.learning.snapshot.model_file import dump, load
from app.learning.state import TenantState, advance_all, replay
from app.storage.redis_keys import keys_of
from app.tenants.registry import Tenants
from app.tenants.snapshotter import SnapshotPolicy
from tests.learning.logs import random_log
from tests.security.forging import overwhelmed
from tests.servers import Server
from tests.tenants.workers import digest, feedback, give, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
TINY = SnapshotPolicy(every_events=1, every_seconds=0.0, kept=1, retained_events=0)


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


def sound(algorithm: str) -> TenantState:
    examples = [FeedbackGiven(feedback(number).example, feedback(number).label) for number in range(30)]
    state = TenantState({"algorithm": algorithm})
    advance_all(state, examples)
    return state


def foreign(algorithm: str = "ftrl") -> bytes:
    """Its numbers are finite, and the next label makes them more than that."""
    return overwhelmed(sound(algorithm), 1e308)


async def overflowed(tenants: Tenants, name: str) -> tuple[int, str]:
    await tenants.imported(name, foreign(), replace=False)
    await give(tenants, name, *(feedback(number) for number in range(5)))
    assert not freeze((await tenants.hold(name)).state).is_finite
    return await digest(tenants, name)


def ladder(store: Server, name: str) -> list[int]:
    return sorted(int(version) for version in store.ask("HKEYS", keys_of(name).headers))


@pytest.mark.parametrize("algorithm", ["ftrl", "arow", "fobos", "stg"])
async def test_huge_finite_weights_overflow_when_they_learn_and_are_then_not_written(algorithm: str) -> None:
    state = load(foreign(algorithm))
    advance_all(state, [FeedbackGiven(feedback(number).example, (-1) ** number) for number in range(30)])
    with pytest.raises(ModelNotFinite, match="numbers of the model are not finite"):
        dump(state)


async def test_keys_that_look_like_no_number_are_no_overflow() -> None:
    state = replay(random_log(3))
    frozen = freeze(state)
    frozen.rows[0, 0] = np.nan
    assert frozen.is_finite
    frozen.rows[-1, -1] = np.inf
    assert not frozen.is_finite


async def test_neither_a_snapshot_nor_an_export_is_made_of_it(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await overflowed(tenants, "acme")
        with pytest.raises(ModelNotFinite):
            await tenants.snapshot("acme")
        with pytest.raises(ModelNotFinite):
            await anext(await tenants.export("acme"))
        assert store.ask("EXISTS", keys_of("acme").snapshot_lock) == 0


async def test_the_older_snapshot_and_the_log_give_the_tenant_back(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=TINY) as tenants:
        before = await overflowed(tenants, "acme")
        await tenants.stop(5.0)
        assert ladder(store, "acme") == [30]
        assert store.ask("XLEN", keys_of("acme").log) == 5, "what the older snapshot needs stays"
    async with worker(store.url, tmp_path) as tenants:
        assert await digest(tenants, "acme") == before
        assert not math.isfinite((await tenants.hold("acme")).predict(feedback(1).example).score)
        await give(tenants, "acme", feedback(6))


async def test_it_is_told_and_not_tried_all_the_time(
    store: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    policy = SnapshotPolicy(every_events=1, every_seconds=1e9)
    with caplog.at_level(logging.WARNING):
        async with worker(store.url, tmp_path, snapshots=policy) as tenants:
            await overflowed(tenants, "acme")
            await until(lambda: "no snapshot of tenant acme: numbers of the model are not finite" in caplog.text)
            await give(tenants, "acme", feedback(7))
            await asyncio.sleep(1.5)  # the next look is over by then
            assert caplog.text.count("no snapshot of tenant acme") == 1
            assert tenants._telemetry.snapshots_failed == 1  # noqa: SLF001 - as the metrics have it


async def test_a_fresh_model_makes_it_sound_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await overflowed(tenants, "acme")
        await tenants.configure("acme", {"algorithm": "cs-ssol"})
        await give(tenants, "acme", feedback(8))
        assert (await tenants.snapshot("acme")).version == 37


async def test_a_store_that_lost_it_does_not_get_it_back(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await overflowed(tenants, "acme")
        store.flush_all()
        await tenants.follower.compare_once()
        await until(lambda: tenants.held("acme") is None)
        assert "it cannot be put back: numbers of the model" in tenants.ready().parts["log"].detail
        await give(tenants, "acme", feedback(9))
