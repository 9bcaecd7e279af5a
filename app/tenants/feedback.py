"""Feedback that was sent before: a retry gets its first answer, another use of the same id a conflict."""

from dataclasses import dataclass

from app.learning.errors import SluiceError
from app.learning.events import Served
from app.learning.state import Outcome
from app.storage.event_codec import decode_record, served_by
from app.storage.event_log import Draft, Duplicate
from app.tenants.errors import FeedbackConflict, FeedbackForgotten
from app.tenants.log_writer import OWN, count_label
from app.tenants.recovery import Recovery
from app.tenants.tenant import FeedbackResult, Tenant


@dataclass(frozen=True, slots=True)
class FeedbackHistory:
    """Finds the first answers to feedback, in memory or in the log."""

    recovery: Recovery

    async def repeated(
        self, tenant: Tenant, feedback_id: str, draft: Draft, earlier: Duplicate
    ) -> FeedbackResult | SluiceError:
        """Return the first answer to a draft whose feedback_id was used before."""
        if earlier.fingerprint not in {OWN, draft.fingerprint}:
            return FeedbackConflict(feedback_id)
        outcome = await self._outcome_of(tenant, earlier.version)
        if outcome is None:
            return FeedbackForgotten(feedback_id, earlier.version)
        if earlier.fingerprint == OWN:
            count_label(tenant, draft.payload, outcome)
        return FeedbackResult(feedback_id, outcome, duplicate=earlier.fingerprint != OWN)

    async def earlier_answer(
        self, tenant: Tenant, feedback_id: str, label: int
    ) -> tuple[FeedbackResult, Served | None] | None:
        """Return the answer to earlier feedback with this id, even if its input is no longer kept."""
        earlier = await self.recovery.log.duplicate(tenant.name, tenant.incarnation, feedback_id)
        if earlier is None:
            return None
        if not earlier.fingerprint.startswith(f"{label}:"):
            raise FeedbackConflict(feedback_id)
        outcome = await self._outcome_of(tenant, earlier.version)
        if outcome is None:
            raise FeedbackForgotten(feedback_id, earlier.version)
        entries = await self.recovery.log.read(tenant.name, earlier.version - 1, 1)
        served = served_by(decode_record(entries[0].payload)) if entries else None
        return FeedbackResult(feedback_id, outcome, duplicate=True), served

    async def _outcome_of(self, tenant: Tenant, version: int) -> Outcome | None:
        """Return an outcome from memory, or replay the event on a copy."""
        outcome = tenant.outcome_of(version)
        if outcome is None:
            outcome = await self.recovery.outcome_of(tenant.name, tenant.incarnation, version)
            if outcome is not None:
                tenant.remember(version, outcome)
        return outcome
