"""Replays of a log one by one, with other settings, as the reference of what-ifs."""

from collections.abc import Mapping

from app.learning.config import Value
from app.learning.events import FeedbackGiven, LabelRetracted, TenantConfigured
from app.learning.parts.confusion import Confusion
from app.learning.state import TenantState, advance, apply
from app.storage.event_codec import decode, decode_all
from app.tenants.labels.what_if import Comparison
from tests.tenants.labels.helpers import NAME
from tests.tenants.workers import stored_entries

Judged = dict[int, tuple[float, int]]  # score and verdict by version


async def by_hand(
    url: str, settings: Mapping[str, Value], state: TenantState | None = None, *, follows: bool = True
) -> Judged:
    """Replay the log one by one, with some settings in place of those in the log."""
    state = state or TenantState()
    apply(state, TenantConfigured(settings))
    entries = await stored_entries(url, NAME)
    judged: Judged = {}
    for entry, event in zip(entries, decode_all([entry.payload for entry in entries]), strict=True):
        if isinstance(event, TenantConfigured):
            changes = {name: value for name, value in event.changes.items() if name not in settings}
            if follows and changes:
                advance(state, TenantConfigured(changes))
        elif not isinstance(event, LabelRetracted):
            outcome = advance(state, event)
            if isinstance(event, FeedbackGiven):
                assert outcome.score is not None
                assert outcome.predicted is not None
                judged[entry.version] = (outcome.score, outcome.predicted)
    return judged


async def labels_of(url: str) -> dict[int, int]:
    return {
        entry.version: event.label
        for entry in await stored_entries(url, NAME)
        if isinstance(event := decode(entry.payload), FeedbackGiven)
    }


def confusion(labels: dict[int, int], judged: Judged) -> Confusion:
    cells = [0, 0, 0, 0]
    for version, (_, verdict) in judged.items():
        cells[2 * (labels[version] > 0) + (verdict > 0)] += 1
    return Confusion(*cells)


async def check_comparison(url: str, found: Comparison, actual: Judged, other: Judged) -> None:
    """Check a comparison, which lists all flips, against two replays."""
    labels = await labels_of(url)
    assert found.actual.counts == confusion(labels, actual)
    assert found.other.counts == confusion(labels, other)
    flipped = [version for version in actual if actual[version][1] != other[version][1]]
    assert [
        (flip.label.version, flip.actual_score, flip.actual_verdict, flip.other_score, flip.other_verdict)
        for flip in found.flips
    ] == [(version, *actual[version], *other[version]) for version in reversed(flipped)]
    corrected = sum(other[version][1] == labels[version] for version in flipped)
    assert (found.corrected, found.spoilt) == (corrected, len(flipped) - corrected)
    assert found.refused == 0
