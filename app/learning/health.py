"""The health of a tenant: whether its verdicts are better than chance, and what to try if they are not."""

from dataclasses import dataclass
from typing import Literal

from app.learning.state import TenantState
from kernels.evaluation.skill import LEAST_LABELS, NO_SKILL, SKILL, UNKNOWN

RARELY = 0.05

Status = Literal["learning", "good", "poor"]
STATUSES: dict[int, Status] = {UNKNOWN: "learning", SKILL: "good", NO_SKILL: "poor"}


@dataclass(frozen=True, slots=True)
class Health:
    """A status, a sentence that explains it, and what to try: empty unless the status is poor."""

    status: Status
    detail: str
    suggestions: tuple[str, ...] = ()


def health_of(state: TenantState) -> Health:
    """Return the health with its explanation."""
    status = STATUSES[state.skill]
    counts, anomaly, normal = state.prequential.lifetime, state.drift.anomaly, state.drift.normal
    if status == "learning":
        return Health(
            status,
            f"There are {counts.positives:,.0f} labels of anomalies and {counts.negatives:,.0f} of normal inputs; "
            f"{LEAST_LABELS} of each are needed to judge the verdicts.",
        )
    found = (
        f"Of the last {anomaly.labels:,} anomalies {1.0 - (anomaly.error or 0.0):.0%} were found, and of the last "
        f"{normal.labels:,} normal inputs {normal.error or 0.0:.0%} were flagged"
    )
    if status == "good":
        return Health(status, f"{found}.")
    return Health(status, f"{found}: no better than chance.", _suggestions(state))


def _suggestions(state: TenantState) -> tuple[str, ...]:
    suggestions = []
    errors = (state.drift.anomaly.error or 0.0, state.drift.normal.error or 0.0)
    if state.config.threshold is not None and min(errors) < RARELY:
        suggestions.append("Nearly all inputs get the same verdict: set threshold to 'auto'.")
    if state.model.dropped:
        suggestions.append("New features were dropped because the model is full: raise max_features.")
    suggestions += (
        "Check some labels: 1 is an anomaly, -1 is normal.",
        "Send features that differ between anomalies and normal inputs.",
    )
    return tuple(suggestions)
