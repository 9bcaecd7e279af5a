"""An imported model whose numbers overflow when it learns: nothing is written that cannot be read again."""

import asyncio
import logging
import math
from pathlib import Path

import numpy as np
import pytest

from app.learning.errors import ModelNotFinite
from app.learning.events import FeedbackGiven
from app.learning.replay import advance_all, replay
from app.learning.snapshot.model_file import dump, load
from app.learning.snapshot.state_copy import copy_state
from app.learning.state import TenantState
from app.storage.redis_keys import keys_of
from app.tenants import snapshotter
from app.tenants.registry import Tenants
from app.tenants.snapshotter import SnapshotPolicy
from tests.learning.logs import random_log
from tests.security.forged_models import with_all_weights
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
    """Return a model whose numbers are finite until the next label."""
    return with_all_weights(sound(algorithm), 1e308)


async def overflowed(tenants: Tenants, name: str) -> tuple[int, str]:
    await tenants.imported(name, foreign(), replace=False)
    await give(tenants, name, *(feedback(number) for number in range(5)))
    assert not copy_state((await tenants.hold(name)).state).is_finite
    return await digest(tenants, name)


def snapshot_versions(store: Server, name: str) -> list[int]:
    return sorted(int(version) for version in store.ask("HKEYS", keys_of(name).headers))


@pytest.mark.parametrize("algorithm", ["ftrl", "arow", "fobos", "stg"])
async def test_huge_finite_weights_overflow_when_they_learn_and_are_then_not_written(algorithm: str) -> None:
    state = load(foreign(algorithm))
    advance_all(state, [FeedbackGiven(feedback(number).example, (-1) ** number) for number in range(30)])
    with pytest.raises(ModelNotFinite, match="the model has numbers that are not finite"):
        dump(state)


async def test_keys_that_look_like_nan_are_not_an_overflow() -> None:
    state = replay(random_log(3))
    frozen = copy_state(state)
    frozen.rows[0, 0] = np.nan
    assert frozen.is_finite
    frozen.rows[-1, -1] = np.inf
    assert not frozen.is_finite


async def test_a_model_that_overflowed_is_neither_snapshotted_nor_exported(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await overflowed(tenants, "acme")
        with pytest.raises(ModelNotFinite):
            await tenants.snapshot("acme")
        with pytest.raises(ModelNotFinite):
            await anext(await tenants.export("acme"))
        assert store.ask("EXISTS", keys_of("acme").snapshot_lock) == 0


async def test_the_older_snapshot_and_the_log_restore_the_tenant(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=TINY) as tenants:
        before = await overflowed(tenants, "acme")
        await tenants.stop(5.0)
        assert snapshot_versions(store, "acme") == [30]
        assert store.ask("XLEN", keys_of("acme").log) == 5, "the older snapshot needs these events"
    async with worker(store.url, tmp_path) as tenants:
        assert await digest(tenants, "acme") == before
        assert not math.isfinite((await tenants.hold("acme")).predict(feedback(1).example).score)
        await give(tenants, "acme", feedback(6))


async def test_a_failed_snapshot_is_logged_once_and_not_retried_at_once(
    store: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshotter, "CHECK_SECONDS", 0.05)
    policy = SnapshotPolicy(every_events=1, every_seconds=1e9)
    with caplog.at_level(logging.WARNING):
        async with worker(store.url, tmp_path, snapshots=policy) as tenants:
            await overflowed(tenants, "acme")
            await until(lambda: "no snapshot of tenant acme: the model has numbers that are not finite" in caplog.text)
            await give(tenants, "acme", feedback(7))
            await asyncio.sleep(5 * snapshotter.CHECK_SECONDS)
            assert caplog.text.count("no snapshot of tenant acme") == 1
            assert tenants._telemetry.snapshots_failed == 1  # noqa: SLF001 - as the metrics have it


async def test_a_new_algorithm_makes_the_model_finite_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await overflowed(tenants, "acme")
        await tenants.configure("acme", {"algorithm": "cs-ssol"})
        await give(tenants, "acme", feedback(8))
        assert (await tenants.snapshot("acme")).version == 37


async def test_a_model_that_overflowed_is_not_put_back(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await overflowed(tenants, "acme")
        store.flush_all()
        await tenants.follower.compare_once()
        await until(lambda: tenants.held("acme") is None)
        assert "it cannot be put back: the model has numbers" in tenants.ready().parts["log"].detail
        await give(tenants, "acme", feedback(9))
