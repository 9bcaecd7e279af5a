"""The review queue as its routes use it, on a real store, with predictions that a policy has chosen."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from app.learning.review import REASONS, Chosen
from app.review.errors import LeaseLost, TooManyLeases
from app.review.queue import Reviewer, ReviewQueue
from app.storage.client import Connection, connect
from app.storage.predictions import PredictionStore
from app.storage.redis_keys import keys_of
from app.storage.review.queue import QueueLimits, ReviewQueueStore
from app.telemetry.counters import Telemetry
from app.tenants.errors import LogReplaced
from app.tenants.predictions.kept_predictions import KeptPredictions
from app.tenants.registry import Tenants
from app.tenants.tenant import Feedback, Tenant, Verdict
from tests.reviews import Available, Chooser, GivenChoice
from tests.servers import Server
from tests.tenants.workers import feedback, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
KIM, LEE = Reviewer("moderator kim"), Reviewer("moderator lee")
LIMITS = QueueLimits(items=5, leases=3)


def anomalies(_: Tenant, verdict: Verdict, prediction_id: str) -> Chosen | None:
    """A policy that chooses anomalies."""
    assert prediction_id
    return Chosen(REASONS.index("flagged"), 0.25, verdict.score) if verdict.label > 0 else None


@dataclass
class Desk:
    """A worker with a tenant, its kept predictions and its queue."""

    tenants: Tenants
    tenant: Tenant
    kept: KeptPredictions
    queue: ReviewQueue
    telemetry: Telemetry
    connection: Connection

    async def predict(self, *scores: float) -> list[str]:
        """Keep predictions with these scores; those above 0 are anomalies."""
        verdicts = [Verdict(1 if score > 0 else -1, score, 0, "cs-sol") for score in scores]
        ids = self.kept.keep_all(self.tenant, [b'{"features":{"a":1}}'] * len(scores), verdicts)
        await self.kept.write()
        return [each.prediction_id for each in ids if each is not None]

    async def label(self, prediction_id: str) -> None:
        kept = await self.kept.recall("acme", prediction_id)
        given: Feedback = msgspec.structs.replace(
            feedback(1), prediction_id=prediction_id, chosen_with=kept.chosen_with or None
        )
        assert await self.tenant.give([given])

    @property
    def events(self) -> dict[str, int]:
        found = self.telemetry.tenants.of("acme").series.review
        return {name: number for name, number in found.items() if number}


@asynccontextmanager
async def working(store: Server, folder: Path, choose: Chooser = anomalies) -> AsyncIterator[Desk]:
    store.flush_all()
    connection = connect(store.url)
    async with worker(store.url, folder) as tenants:
        telemetry = Telemetry()
        tenant = await tenants.hold("acme")
        tenant.counter = telemetry.tenants.of("acme")
        predictions = PredictionStore(connection, 60, 1000, review=LIMITS)
        kept = KeptPredictions(predictions, Available(), enabled=True, telemetry=telemetry, choice=GivenChoice(choose))
        queue = ReviewQueue(ReviewQueueStore(connection, LIMITS), telemetry.tenants, LIMITS)
        yield Desk(tenants, tenant, kept, queue, telemetry, connection)
    await connection.aclose()


@pytest.fixture
async def desk(store: Server, tmp_path: Path) -> AsyncIterator[Desk]:
    async with working(store, tmp_path) as desk:
        yield desk


async def test_a_chosen_prediction_is_kept_with_its_choice_and_queued(desk: Desk) -> None:
    normal, flagged, also = await desk.predict(-1.0, 1.0, 2.0)
    kept = await desk.kept.recall("acme", flagged)
    assert (kept.chosen_with, kept.review_reason) == (0.25, REASONS.index("flagged"))
    assert (await desk.kept.recall("acme", normal)).chosen_with == 0.0
    found = await desk.queue.lease(desk.tenant, KIM, 5, None)
    assert [item.prediction_id for item in found.items] == [also, flagged]
    assert (found.waiting, found.leased) == (0, 2)


async def test_what_happens_to_items_is_counted(desk: Desk) -> None:
    first, second, third, fourth = await desk.predict(4.0, 3.0, 2.0, 1.0)
    leased = await desk.queue.lease(desk.tenant, KIM, 3, 60)
    assert [item.prediction_id for item in leased.items] == [first, second, third]
    await desk.queue.end_lease("acme", KIM, "skip", first)
    await desk.queue.end_lease("acme", KIM, "unsure", second, leased.lease)
    _, until = await desk.queue.end_lease("acme", KIM, "renew", third, seconds=600)
    assert until is not None
    assert until > leased.until_milliseconds
    await desk.queue.end_lease("acme", KIM, "release", third)
    await desk.label(third)
    await desk.label(fourth)
    assert desk.events == {
        "leased": 3, "skipped": 1, "unsure": 1, "renewed": 1, "released": 1, "settled": 2,
    }  # fmt: skip
    status = await desk.queue.status("acme")
    assert status is not None
    assert (status.changes.waiting, status.reasons) == (2, {"flagged": 2})


async def test_items_that_do_not_fit_are_counted_as_dropped(desk: Desk) -> None:
    ids = await desk.predict(*[float(score) for score in range(1, 9)])
    assert desk.events == {"dropped": 3}
    first = await desk.queue.lease(desk.tenant, KIM, 3, None)
    second = await desk.queue.lease(desk.tenant, LEE, 3, None)
    assert [item.prediction_id for each in (first, second) for item in each.items] == list(reversed(ids[3:]))


async def test_an_ended_lease_is_counted_as_expired(store: Server, tmp_path: Path) -> None:
    async with working(store, tmp_path) as desk:
        await desk.predict(1.0)
        await desk.queue.lease(desk.tenant, KIM, 1, 1)
        await asyncio.sleep(1.1)
        assert (await desk.queue.lease(desk.tenant, LEE, 1, 60)).items
        assert desk.events == {"leased": 2, "expired": 1}


async def test_a_lease_that_is_lost_or_too_many_are_refused_with_a_sentence(desk: Desk) -> None:
    ids = await desk.predict(5.0, 4.0, 3.0, 2.0, 1.0)
    await desk.queue.lease(desk.tenant, KIM, 3, None)
    with pytest.raises(LeaseLost, match="leased by somebody else"):
        await desk.queue.end_lease("acme", LEE, "skip", ids[0])
    with pytest.raises(LeaseLost, match="waits in the queue"):
        await desk.queue.end_lease("acme", LEE, "skip", ids[4])
    with pytest.raises(LeaseLost, match="has left the queue"):
        await desk.queue.end_lease("acme", LEE, "skip", "unknown")
    with pytest.raises(TooManyLeases, match=r"3 leases.*SLUICE_REVIEW_MAX_LEASES"):
        await desk.queue.lease(desk.tenant, KIM, 1, None)


async def test_nothing_is_leased_while_the_store_lacks_labels(desk: Desk) -> None:
    await desk.predict(1.0)
    assert await desk.tenant.give([feedback(2)])
    await desk.connection.ask("HSET", keys_of("acme").meta, "version", 0)  # as after a failover
    with pytest.raises(LogReplaced):
        await desk.queue.lease(desk.tenant, KIM, 1, None)


async def test_without_the_store_the_status_is_unknown(store: Server, tmp_path: Path) -> None:
    async with working(store, tmp_path) as desk:
        store.freeze()
        try:
            assert await desk.queue.status("acme") is None
        finally:
            store.thaw()
