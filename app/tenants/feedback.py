"""Feedback from arrival to outcome: append, learn, and the same answer for whoever asks twice."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from app.learning.errors import SluiceError
from app.learning.events import Served
from app.learning.state import Outcome
from app.storage.event_codec import decode_record, served_by
from app.storage.event_log import Draft, Used
from app.tenants.errors import FeedbackConflict, FeedbackForgotten
from app.tenants.label_counts import count_label
from app.tenants.log_writer import OWN, Appender
from app.tenants.recovery import Recovery
from app.tenants.tenant import Feedback, Given, Tenant, new_feedback_id


@dataclass(frozen=True, slots=True)
class Giving:
    """How feedback is given to the tenants of this worker."""

    appender: Appender
    recovery: Recovery

    async def give(self, tenant: Tenant, feedback: Sequence[Feedback]) -> list[Given | SluiceError]:
        """Give several in order; an error stands in place of one that was refused."""
        now = time.time_ns() // 1_000_000
        drafts = [_drafted(tenant, each, now) for each in feedback]
        good = [draft for draft in drafts if isinstance(draft, Draft)]
        results = iter(await self.appender.append(tenant, good) if good else ())
        return [
            draft if isinstance(draft, SluiceError) else await self._given(tenant, each, draft, next(results))
            for each, draft in zip(feedback, drafts, strict=True)
        ]

    async def again(self, tenant: Tenant, feedback_id: str, label: int) -> tuple[Given, Served | None] | None:
        """The answer to feedback that was given before under this id, though its input is not known any more."""
        used = await self.recovery.log.used(tenant.name, tenant.born, feedback_id)
        if used is None:
            return None
        if not used.fingerprint.startswith(f"{label}:"):
            raise FeedbackConflict(feedback_id)
        outcome = await self._outcome_of(tenant, used.version)
        if outcome is None:
            raise FeedbackForgotten(feedback_id, used.version)
        entries = await self.recovery.log.read(tenant.name, used.version - 1, 1)
        served = served_by(decode_record(entries[0].payload)) if entries else None
        return Given(feedback_id, outcome, duplicate=True), served

    async def _given(
        self, tenant: Tenant, feedback: Feedback, draft: Draft, result: Outcome | Used
    ) -> Given | SluiceError:
        feedback_id = feedback.feedback_id or new_feedback_id()
        if isinstance(result, Outcome):
            return Given(feedback_id, result, duplicate=False)
        if result.fingerprint not in {OWN, draft.fingerprint}:
            return FeedbackConflict(feedback_id)
        outcome = await self._outcome_of(tenant, result.version)
        if outcome is None:
            return FeedbackForgotten(feedback_id, result.version)
        if result.fingerprint == OWN:
            count_label(tenant, draft.payload, outcome)
        return Given(feedback_id, outcome, duplicate=result.fingerprint != OWN)

    async def _outcome_of(self, tenant: Tenant, version: int) -> Outcome | None:
        """From memory, else by doing it once more on a copy."""
        outcome = tenant.outcome_of(version)
        if outcome is None:
            outcome = await self.recovery.outcome_of(tenant.name, tenant.born, version)
            if outcome is not None:
                tenant.remember(version, outcome)
        return outcome


def _drafted(tenant: Tenant, feedback: Feedback, now: int) -> Draft | SluiceError:
    try:
        return tenant.draft(feedback, now)
    except SluiceError as refused:
        return refused
