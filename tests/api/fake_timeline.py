"""Labels over time from labels in memory."""

from collections.abc import Iterable

import numpy as np

from app.learning.state import TenantState
from app.tenants.labels.label_history import COLUMNS, LabelHistory
from app.tenants.labels.stored_labels import Retraction, StoredLabel
from app.tenants.labels.timeline import DriftFound, Timeline, timeline_of

Labels = Iterable[tuple[StoredLabel, Retraction | None]]


def timeline_from(labels: Labels, state: TenantState, since: int | None, until: int, periods: int) -> Timeline:
    """The timeline of labels in their order, without those that were taken back."""
    rows = [
        (each.version, each.at_milliseconds, each.label, each.served_label or 0, each.served_at_milliseconds or 0,
         each.chosen_with or 0.0, each.version)
        for each, retraction in labels if retraction is None
    ]  # fmt: skip
    history = LabelHistory(state.version, is_complete=True, labels=np.array(rows, COLUMNS))
    return timeline_of(history, since, until, periods, DriftFound(state.drift, state.version, len(rows)))
