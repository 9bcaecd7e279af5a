"""Many events in order: the events of a log, onto a state or from the beginning."""

from collections.abc import Iterable
from itertools import groupby, islice

from app.learning.events import Event, FeedbackGiven
from app.learning.state import TenantState, advance, apply

BATCH_EVENTS = 4096  # feedback events learnt in one kernel call


def advance_all(state: TenantState, events: Iterable[Event]) -> None:
    """Advance by many events: bit for bit the same as one by one, and several times faster."""
    for is_feedback, run in groupby(events, lambda event: isinstance(event, FeedbackGiven)):
        if is_feedback:
            while batch := list(islice(run, BATCH_EVENTS)):
                state.learn_all(batch)  # type: ignore[arg-type]  # groupby selects FeedbackGiven
        else:
            for event in run:
                advance(state, event)


def replay(events: Iterable[Event], onto: TenantState | None = None) -> TenantState:
    """Apply events in order, to a given state or from the beginning."""
    state = TenantState() if onto is None else onto
    for event in events:
        apply(state, event)
    return state
