"""Counting labels: each once, by the worker through which it was given."""

from app.learning.state import Outcome
from app.storage.event_codec import FeedbackRecord, decode_record
from app.tenants.tenant import Tenant


def count_label(tenant: Tenant, payload: bytes, outcome: Outcome) -> None:
    """Count an event that was appended here; whoever only follows the log does not come this way."""
    record = decode_record(payload)
    if not isinstance(record, FeedbackRecord) or outcome.predicted is None:
        return
    tenant.watch.labelled(record.label, outcome.predicted)
    if record.served_label is not None:
        tenant.watch.answered(record.label, record.served_label, _delay_seconds(record))


def _delay_seconds(record: FeedbackRecord) -> float | None:
    if record.served_at_milliseconds is None:
        return None
    return (record.at_milliseconds - record.served_at_milliseconds) / 1000.0
