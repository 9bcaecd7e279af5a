"""Puts predictions into the review queue of a running service, as its policy does."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from app.learning.review import REASONS, Chosen
from app.learning.state import TenantState
from app.storage.client import connect
from app.storage.metadata import Position
from app.storage.predictions import Block, PredictionStore
from app.tenants.predictions.kept_predictions import KeptPredictions, ReviewChoice
from app.tenants.tenant import Tenant, Verdict


class Available:
    """The status of a store that can be used."""

    def __init__(self) -> None:
        self.trouble: str | None = None
        self.away: dict[str, str] = {}


Chooser = Callable[[Tenant, Verdict, str], Chosen | None]


class GivenChoice(ReviewChoice):
    """Chooses as a test says, in place of a policy."""

    def __init__(self, choose: Chooser) -> None:
        super().__init__()
        self._given = choose

    def choose(self, tenant: Tenant, verdict: Verdict, prediction_id: str, block: Block) -> Chosen | None:  # noqa: ARG002 - as the policy takes it
        return self._given(tenant, verdict, prediction_id)


def queue(store_url: str, tenant: str, costs: Sequence[float | None], features: object = None) -> list[str]:
    """Keep a prediction for each cost, chosen as uncertain, or at random where it is None; return their ids."""
    return asyncio.run(_queue(store_url, tenant, costs, features or {"a": 1.0}))


async def _queue(store_url: str, tenant: str, costs: Sequence[float | None], features: object) -> list[str]:
    choices = iter(
        Chosen(REASONS.index("random"), 0.5, 0.1) if cost is None else Chosen(REASONS.index("uncertain"), 1.0, cost)
        for cost in costs
    )
    connection = connect(store_url)
    store = PredictionStore(connection, 3600, 10_000)
    kept = KeptPredictions(store, Available(), enabled=True, choice=GivenChoice(lambda *_: next(choices)))
    owner = Tenant(tenant, TenantState(), Position("", 0, ""))
    given, verdict = msgspec.json.encode({"features": features}), Verdict(-1, -0.25, 0, "cs-sol")
    ids = [kept.keep(owner, given, verdict) for _ in costs]
    await kept.write()
    await connection.aclose()
    return [each.prediction_id for each in ids if each is not None]
