"""Kept predictions in memory."""

import asyncio
from collections.abc import Sequence

from app.learning.review import Chosen
from app.storage.review.inputs import RawInput
from app.tenants.errors import PredictionExpired
from app.tenants.predictions.blocks import Kept, KeptPrediction
from app.tenants.predictions.kept_predictions import ReadRaw
from app.tenants.tenant import Tenant, Verdict
from tests.api.fakes import FakeTenants


class FakePending:
    """Keeps predictions for ever, unless `full`."""

    def __init__(self, tenants: FakeTenants) -> None:
        self._tenants = tenants
        self._kept: dict[tuple[str, str], KeptPrediction] = {}
        self._inputs: dict[tuple[str, str], RawInput] = {}
        self.full = False
        self.choice: Chosen | None = None  # of the review policy, for each prediction

    def keep(self, tenant: Tenant, given: bytes, verdict: Verdict, raw: ReadRaw | None = None) -> Kept | None:
        if self.full:
            return None
        prediction_id = f"kept-{len(self._kept)}"
        if raw is not None and tenant.state.config.values["keep_inputs"] == "all":
            self._inputs[tenant.name, prediction_id] = RawInput(*raw())
        choice = (self.choice.probability, self.choice.reason) if self.choice else (0.0, 0)
        found = KeptPrediction(given, verdict.label, verdict.score, verdict.version, 0, *choice)
        self._kept[tenant.name, prediction_id] = found
        return Kept(prediction_id, self.choice)

    def keep_all(self, tenant: Tenant, given: Sequence[bytes], verdicts: Sequence[Verdict]) -> Sequence[Kept | None]:
        return [self.keep(tenant, *each) for each in zip(given, verdicts, strict=True)]

    async def give_way(self) -> None:
        await asyncio.sleep(0)

    async def recall(self, tenant: str, prediction_id: str) -> KeptPrediction:
        self._tenants.reach()
        try:
            return self._kept[tenant, prediction_id]
        except KeyError:
            raise PredictionExpired(prediction_id) from None

    async def recall_input(self, tenant: str, prediction_id: str) -> RawInput | None:
        self._tenants.reach()
        return self._inputs.get((tenant, prediction_id))
