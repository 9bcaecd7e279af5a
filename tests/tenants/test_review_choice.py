"""The choice of the review policy: shares, reasons, budget, and the same choice everywhere."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from app.learning.config import Value, config_of
from app.learning.errors import BadSetting
from app.learning.review import REASONS, Chosen, policy_of
from app.storage.client import connect
from app.storage.predictions import PredictionStore
from app.tenants.predictions.blocks import Kept
from app.tenants.predictions.kept_predictions import KeptPredictions, draw_of
from app.tenants.registry import Tenants
from app.tenants.tenant import Tenant, Verdict
from tests.servers import Server
from tests.tenants.test_kept_predictions import Status, pending_of
from tests.tenants.workers import feedback, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
SHARES: dict[str, Value] = {"review_uncertain": 0.5, "review_flagged": 0.2, "review_random": 0.05}


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


def verdicts(tenant: Tenant, score: float, count: int) -> list[Verdict]:
    state = tenant.state
    return [Verdict(state.verdict(score), score, state.version, "cs-sol", None)] * count


def chosen_of(kept: list[Kept | None]) -> list[Chosen]:
    return [each.chosen for each in kept if each is not None and each.chosen is not None]


def choose(pending: KeptPredictions, tenant: Tenant, score: float, count: int) -> list[Chosen]:
    return chosen_of(list(pending.keep_all(tenant, [b"x"] * count, verdicts(tenant, score, count))))


async def learnt(tenants: Tenants, settings: dict[str, Value]) -> Tenant:
    """Return a tenant that has learnt both classes."""
    tenant = await tenants.configure("acme", {"algorithm": "cs-sol", "threshold": "auto", **settings})
    await tenant.give([feedback(n) for n in range(80)])
    return tenant


async def test_choices_match_the_shares_and_store_their_probability(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as pending:
        tenant = await learnt(tenants, SHARES | {"review_band": 0.0})
        threshold, count = tenant.state.model.threshold, 4000
        for score, share, reason in ((threshold + 9.0, 0.2, "flagged"), (threshold - 9.0, 0.05, "random")):
            found = choose(pending, tenant, score, count)
            assert abs(len(found) - share * count) < 5.0 * math.sqrt(share * count)
            assert {each.probability for each in found} == {share}
            named = Counter(REASONS[each.reason] for each in found)
            assert named.most_common(1)[0][0] == reason


async def test_a_model_without_an_opinion_wants_reviews_of_everything(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as pending:
        tenant = await tenants.configure("acme", SHARES | {"review_uncertain": 1.0})
        found = choose(pending, tenant, 0.0, 100)
        assert len(found) == 100
        assert {REASONS[each.reason] for each in found} == {"unknown"}


async def test_the_same_prediction_is_chosen_on_every_worker_alone_and_in_a_batch(
    store: Server, tmp_path: Path
) -> None:
    async with (
        worker(store.url, tmp_path / "1") as here,
        worker(store.url, tmp_path / "2") as there,
        pending_of(store.url) as one,
        pending_of(store.url) as two,
    ):
        one._prefix = two._prefix = "0123456789ab"  # noqa: SLF001 - the same ids
        first = await here.configure("acme", SHARES)
        second = await there.hold("acme")
        batch = one.keep_all(first, [b"x"] * 500, verdicts(first, 0.0, 500))
        singly = [two.keep(second, b"x", each) for each in verdicts(second, 0.0, 500)]
        assert batch == singly
        assert 0 < len(chosen_of(list(batch))) < 500


async def test_a_choice_is_kept_with_the_prediction_and_waits_for_the_queue(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as pending:
        tenant = await tenants.configure("acme", SHARES | {"review_uncertain": 0.75})
        kept = [each for each in pending.keep_all(tenant, [b"x"] * 20, verdicts(tenant, 0.0, 20)) if each is not None]
        waiting = [each for block in pending._waiting.values() for each in block.chosen]  # noqa: SLF001 - the queue's
        assert [(each.prediction_id, each.chosen) for each in waiting] == [
            (each.prediction_id, each.chosen) for each in kept if each.chosen is not None
        ]
        await pending.write()
        for each in kept:
            found = await pending.recall("acme", each.prediction_id)
            assert (found.chosen_with, found.review_reason) == ((0.75, 4) if each.chosen else (0.0, 0))


async def test_a_tenant_without_a_policy_chooses_nothing(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as pending:
        tenant = await tenants.configure("acme", dict.fromkeys(SHARES, 0.0))
        assert tenant.state.policy is None
        assert choose(pending, tenant, 0.0, 100) == []


async def test_a_budget_bounds_the_reviews_of_all_workers(store: Server, tmp_path: Path) -> None:
    budget = {"review_uncertain": 1.0, "review_flagged": 1.0, "review_random": 1.0, "reviews_per_day": 240.0}
    async with worker(store.url, tmp_path) as tenants:
        tenant = await tenants.configure("acme", budget)
        connection = connect(store.url)
        workers = [KeptPredictions(PredictionStore(connection, 60, 10_000), Status(), enabled=True) for _ in range(2)]
        chosen = 0
        for _ in range(20):
            for pending in workers:
                kept = pending.keep_all(tenant, [b"x"] * 100, verdicts(tenant, 0.0, 100))
                found = chosen_of(list(kept))
                chosen += len(found)
                await pending.write()
        # 4,000 predictions at once: about ln(4,000 / 10) + 1 = 7 times an hour's budget of 10.
        assert 30 < chosen < 130
        last = workers[0].keep_all(tenant, [b"x"] * 1000, verdicts(tenant, 0.0, 1000))
        assert all(each.probability < 10.0 / 3900.0 for each in chosen_of(list(last)))
        await connection.aclose()


async def test_the_draw_is_uniform_and_depends_on_the_incarnation() -> None:
    draws = np.array([draw_of(f"0123456789ab-{n}-0-1", "life") for n in range(20_000)])
    assert 0.0 <= draws.min() < draws.max() < 1.0
    assert np.abs(np.histogram(draws, 20, (0.0, 1.0))[0] - 1000).max() < 160
    assert draw_of("0123456789ab-1-0-1", "other") != draw_of("0123456789ab-1-0-1", "life")


def test_shares_without_a_random_one_are_refused() -> None:
    for name in ("review_uncertain", "review_flagged"):
        with pytest.raises(BadSetting, match="review_random"):
            config_of({name: 0.5})
    assert policy_of(config_of({}).values) is None
