"""Random histories: whatever happened, the state is that of a log in which the labels taken back never stood."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from app.learning.snapshot.model_file import load
from app.learning.state import TenantState, advance
from app.storage.client import connect
from app.storage.event_codec import (
    RemovalRecord,
    RetractionRecord,
    decode,
    decode_record,
    encode,
    label_hash,
)
from app.storage.event_log import Draft, Entry, EventLog
from app.tenants.errors import RetractionTooOld
from app.tenants.labels.stored_labels import LabelFilter, retracted_in
from app.tenants.registry import Tenants
from app.tenants.tenant import Feedback, FeedbackResult
from kernels.registry import ALGORITHMS
from tests.servers import Server, cluster
from tests.tenants.labels.helpers import MANY, NAME, has_applied, retract
from tests.tenants.workers import copy_of, digest, fail_over_to, feedback, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
OFTEN = {"cs-sol", "cs-ssol", "ftrl", "ssol-full"}  # the others only in `make e2e`
SETTINGS = ({"bias": True}, {"bias": False}, {"threshold": 0.1}, {"threshold": "auto"}, {"normalize": "none"})


@dataclass
class History:
    """Two workers, and what happens to their tenant."""

    url: str
    workers: list[Tenants]
    rng: np.random.Generator
    store: Server | None = None  # that can fail over
    number: int = 0
    base: bytes | None = None  # the file that was imported last without a log
    happened: list[str] = field(default_factory=list)

    @property
    def tenants(self) -> Tenants:
        return self.workers[int(self.rng.integers(len(self.workers)))]

    async def give_labels(self) -> None:
        items = [self._label() for _ in range(int(self.rng.integers(1, 10)))]
        results = await (await self.tenants.hold(NAME)).give(items)
        # A label from before an import without its log cannot be replaced.
        assert all(isinstance(each, FeedbackResult | RetractionTooOld) for each in results), results

    def _label(self) -> Feedback:
        """Return a label, often for one of a few predictions, which may have a label already."""
        self.number += 1
        given, prediction = feedback(self.number, f"id-{self.number}"), int(self.rng.integers(60))
        if prediction >= 20:
            return given
        example = feedback(prediction).example
        return Feedback(given.label, example, given.feedback_id, None, f"0123456789ab-1-{prediction:x}-5")

    async def configure(self) -> None:
        await self.tenants.configure(NAME, SETTINGS[int(self.rng.integers(len(SETTINGS)))])

    async def remove_features(self) -> None:
        tenant = await self.tenants.hold(NAME)
        assert tenant.writer is not None
        await tenant.writer.append(tenant, [Draft(encode(RemovalRecord(1, float(self.rng.uniform(0, 0.1)), 1.0)))])

    async def take_snapshot(self) -> None:
        await self.check()
        await self.tenants.snapshot(NAME)

    async def retract_some(self) -> None:
        tenants = self.tenants
        found = [label async for label, taken_back in await tenants.labels(NAME, LabelFilter()) if taken_back is None]
        ids = [str(label.feedback_id) for label in found]
        with suppress(RetractionTooOld):  # of labels from before such an import
            await retract(tenants, *self.rng.choice(ids, min(len(ids), int(self.rng.integers(1, 6))), replace=False))

    async def import_file(self) -> None:
        tenants, has_log = self.tenants, bool(self.rng.random() < 0.5)
        file = b"".join([piece async for piece in await tenants.export(NAME, has_log=has_log)])
        await tenants.imported(NAME, file, replace=True)
        if not has_log:
            self.base = file
        await self.settle()

    async def restore(self) -> None:
        tenants = self.tenants
        await tenants.delete(NAME)
        await tenants.restore(NAME)
        await self.settle()

    async def fail_over(self) -> None:
        """Fail over to a replica that lacks the last events."""
        if self.store is not None:
            copy = copy_of(self.store)
            await self.give_labels()
            await self.retract_some()
            await self.check()
            fail_over_to(self.store, copy)
            await self.settle()

    async def settle(self) -> None:
        """Let every worker compare its tenant with the log: until then, it refuses labels for one that was replaced."""
        for tenants in self.workers:
            await tenants.follower.compare_once()

    async def play(self, steps: int) -> None:
        usual, rare = 0.35, 0.05
        actions: list[tuple[Callable[[], Awaitable[None]], float]] = [
            (self.give_labels, usual), (self.retract_some, 0.2), (self.take_snapshot, 0.15), (self.configure, 0.1),
            (self.remove_features, 0.05), (self.import_file, rare), (self.restore, rare), (self.fail_over, rare),
        ]  # fmt: skip
        await self.give_labels()
        for _ in range(steps):
            action = actions[int(self.rng.choice(len(actions), p=[share for _, share in actions]))][0]
            self.happened.append(action.__name__)
            await action()
        await self.check()

    async def check(self) -> None:
        expected = await expected_state(self.url, self.base)
        for tenants in self.workers:
            tenant = await tenants.hold(NAME)
            await tenants.follower.compare_once()
            tenant = await tenants.hold(NAME)
            await until(partial(has_applied, tenant, expected.version))
            assert await digest(tenants, NAME) == (expected.version, expected.digest), self.happened


async def expected_state(url: str, base: bytes | None) -> TenantState:
    """Replay the log without what was taken back; from the last import, if that had no log."""
    connection = connect(url)
    entries: list[Entry] = await EventLog(connection, 60).read(NAME, 0, 1_000_000)
    await connection.aclose()
    imported = load(base) if base is not None else TenantState()
    starts_whole = bool(entries) and entries[0].version == 1
    state = TenantState() if starts_whole else imported
    records = [decode_record(entry.payload) for entry in entries]
    retracted = retracted_in(entries)
    last = state.version
    for entry, record in zip(entries, records, strict=True):
        last = entry.version
        is_left_out = isinstance(record, RetractionRecord) or label_hash(entry.payload) in retracted
        if (entry.version > imported.version or starts_whole) and not is_left_out:
            advance(state, decode(entry.payload))
    state.version = last
    return state


@pytest.mark.parametrize(
    "algorithm", [each if each in OFTEN else pytest.param(each, marks=pytest.mark.e2e) for each in ALGORITHMS]
)
async def test_the_state_is_that_of_a_log_without_the_labels(store: Server, tmp_path: Path, algorithm: str) -> None:
    store.flush_all()
    rng = np.random.default_rng(list(algorithm.encode()))
    async with worker(store.url, tmp_path, snapshots=MANY) as one, worker(store.url, tmp_path, snapshots=MANY) as other:
        await one.configure(NAME, {"algorithm": algorithm, "max_features": 400})
        history = History(store.url, [one, other], rng, store)
        await history.play(40)
    async with worker(store.url, tmp_path) as restarted:
        history.workers = [restarted]
        await history.check()


@pytest.mark.e2e
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_the_same_in_a_cluster(tmp_path: Path, seed: int) -> None:
    with cluster(tmp_path / "cluster") as stores:
        url = stores.url
        async with worker(url, tmp_path, snapshots=MANY) as one, worker(url, tmp_path, snapshots=MANY) as other:
            history = History(url, [one, other], np.random.default_rng(seed))
            await history.play(60)
        async with worker(url, tmp_path) as restarted:
            history.workers = [restarted]
            await history.check()
