"""What became of a label, as it is answered."""

import math

from app.api.wire import FeedbackOut, ServedOut
from app.learning.errors import SluiceError
from app.learning.events import Served
from app.tenants.tenant import FeedbackResult, Tenant

NO_LOSS = "no loss: the score was already right by a margin"
NOT_FINITE = "the score is not finite: weights of the model have overflowed"


def told(
    tenant: Tenant, label: int, served: Served | None, given: FeedbackResult | SluiceError
) -> FeedbackOut | Exception:
    """The outcome, with what had been served."""
    if isinstance(given, Exception):
        return given
    outcome = given.outcome
    return FeedbackOut(
        tenant=tenant.name,
        feedback_id=given.feedback_id,
        version=outcome.version,
        label=label,  # type: ignore[arg-type]  # 1 or -1
        predicted=outcome.predicted,  # type: ignore[arg-type]  # 1 or -1
        score=outcome.score,
        loss=outcome.loss,
        updated=outcome.updated,
        duplicate=given.duplicate,
        reason=None if outcome.updated else outcome.refused or _why_not(outcome.score),
        served=ServedOut(served.label, served.score) if served else None,  # type: ignore[arg-type]  # 1 or -1
    )


def _why_not(score: float | None) -> str:
    return NO_LOSS if score is None or math.isfinite(score) else NOT_FINITE
