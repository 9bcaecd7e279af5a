"""A tenant in memory: its state, the position of that state in the log, and the outcomes of recent events."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from app.learning.errors import BadExample, SluiceError
from app.learning.events import Event, Outcome, ReplacedLabel, RetractionMade, Served
from app.learning.example import Example, Examples
from app.learning.numbers import names_to_show
from app.learning.state import TenantState, advance, advance_all
from app.storage.event_codec import (
    FeedbackRecord,
    LongFeedbackRecord,
    decode,
    encode,
    fingerprint_of,
    packed_values,
)
from app.storage.event_log import Draft, Duplicate, Entry, Labelled, next_chain
from app.storage.metadata import Position
from app.telemetry.counters import UNCOUNTED
from app.tenants.errors import FeedbackForgotten, LogReplaced, RetractionFound, TenantDamaged, UpdateVetoed
from app.tenants.labels.progress import Progress

if TYPE_CHECKING:
    from app.tenants.feedback import Caller, FeedbackHistory
    from app.tenants.log_writer import LogWriter

OUTCOMES_KEPT = 1024


class Verdict(msgspec.Struct, frozen=True):
    """A prediction. Contributions are only there if they were requested, the largest first."""

    label: int
    score: float
    version: int
    algorithm: str
    probability: float | None = None
    contributions: Sequence[tuple[str, float]] = ()


class Feedback(msgspec.Struct, frozen=True):
    """A label from a client, with everything that is stored about it."""

    label: int
    example: Example
    feedback_id: str | None = None
    moderator: str | None = None
    prediction_id: str | None = None
    served: Served | None = None
    served_at_milliseconds: int | None = None
    key_id: str | None = None
    request_id: str | None = None
    replaces: ReplacedLabel | None = None
    chosen_with: float | None = None


class FeedbackResult(msgspec.Struct, frozen=True):
    """The outcome of feedback."""

    feedback_id: str
    outcome: Outcome
    duplicate: bool


class Retry(msgspec.Struct, frozen=True):
    """Feedback whose id was used before, or whose prediction has a label already."""

    feedback_id: str
    feedback: Feedback
    draft: Draft
    earlier: Duplicate | Labelled


class Tenant:
    """One tenant, with its log applied up to some version."""

    # In the class, because nearly all tenants have these values nearly always.
    left_out: frozenset[bytes] = frozenset()  # labels that do not stand, and that this state never learns
    decided: int = 0  # the version up to which `left_out` follows the retractions of the log
    rebuilding: Progress | None = None  # of a state that takes the place of this one

    def __init__(self, name: str, state: TenantState, position: Position, snapshot_version: int = 0) -> None:
        self.name = name
        self.state = state
        self.incarnation = position.incarnation
        self.chain = position.chain
        self.snapshot_version = snapshot_version  # of the newest known snapshot
        self.snapshot_at = time.monotonic()  # when that was taken, or the tenant was loaded
        self.snapshot_tried_at = self.snapshot_at
        self.unsaved_bytes = 0  # of the events that this worker has applied since
        self.snapshot_not_before = 0.0  # attempts before this time would fail again
        self.in_flight = 0  # appends whose outcomes a request waits for
        self.known_version = 0  # the highest version that is known to be in the log
        self.behind_since = 0.0  # when that became higher than the version of the state
        self.counter = UNCOUNTED
        self.max_weights_moved = 0  # by one label; 0 is no limit
        self.lock = asyncio.Lock()  # held while the state must not change
        self.writer: LogWriter | None = None  # None while the tenant is being loaded
        self.history: FeedbackHistory | None = None
        self.outcomes: OrderedDict[int, Outcome] | None = None

    @property
    def position(self) -> Position:
        """The position of the state in its log."""
        return Position(self.incarnation, self.state.version, self.chain)

    def note_version(self, version: int) -> None:
        """Note that the log has reached a version."""
        if version > self.known_version:
            if self.known_version <= self.state.version < version:
                self.behind_since = time.monotonic()
            self.known_version = version

    def predict(self, example: Example, explain: int = 0) -> Verdict:
        """Score an example without learning."""
        state = self.state
        algorithm = str(state.config.values["algorithm"])
        begin = time.perf_counter()
        if not explain:
            score, label = state.predict(example)
            self.counter.scored(time.perf_counter() - begin, score, label)
            return Verdict(label, score, state.version, algorithm, state.probability(score))
        score, keys, contributions = state.model.explain(example)
        self.counter.scored(time.perf_counter() - begin, score, state.verdict(score))
        largest = np.lexsort((keys, -np.abs(contributions)))[:explain]
        names = names_to_show(example, encoded=state.config.encodes_numbers)
        shown = [(keys[k].item(), contributions[k].item()) for k in largest if contributions[k] != 0.0]
        named = [(names.get(key) or state.names.name_of(key), value) for key, value in shown]
        return Verdict(state.verdict(score), score, state.version, algorithm, state.probability(score), named)

    def predict_all(self, examples: Examples) -> list[Verdict]:
        """Score several examples in one kernel call; raise BadExample if one of them is refused."""
        state = self.state
        version, algorithm = state.version, str(state.config.values["algorithm"])
        begin = time.perf_counter()
        found = state.predict_all(examples)
        seconds = time.perf_counter() - begin
        self.counter.scored_all(seconds, [score for score, _ in found], sum(label > 0 for _, label in found))
        return [Verdict(label, score, version, algorithm, state.probability(score)) for score, label in found]

    async def give(
        self, feedback: Sequence[Feedback], caller: "Caller | None" = None
    ) -> list[FeedbackResult | SluiceError]:
        """Append feedback to the log and learn it; an error takes the place of feedback that was refused.

        Raise Abandoned if the caller goes while retries have to be found in the log.
        """
        assert self.writer is not None
        assert self.history is not None
        now = time.time_ns() // 1_000_000
        drafts = [self._draft_or_error(each, now) for each in feedback]
        good = [draft for draft in drafts if isinstance(draft, Draft)]
        appended = iter(await self.writer.append(self, good) if good else ())
        results: list[FeedbackResult | SluiceError] = []
        retries: dict[int, Retry] = {}  # by their place
        for each, draft in zip(feedback, drafts, strict=True):
            if isinstance(draft, SluiceError):
                results.append(draft)
                continue
            feedback_id = each.feedback_id or f"{_process}.{next(_numbers)}"
            result = next(appended)
            if not isinstance(result, Outcome):
                retries[len(results)] = Retry(feedback_id, each, draft, result)
                results.append(FeedbackForgotten(feedback_id, result.version))  # until it is found
                continue
            if each.feedback_id is not None:
                self.history.keep(self, feedback_id, draft.fingerprint, result)
            results.append(FeedbackResult(feedback_id, result, duplicate=False))
        if retries:
            found = await self.history.repeated(self, list(retries.values()), caller)
            for place, answer in zip(retries, found, strict=True):
                results[place] = answer
        return results

    async def earlier_answer(
        self, feedback_id: str, label: int, caller: "Caller | None" = None
    ) -> tuple[FeedbackResult, Served | None] | None:
        """Return the answer to earlier feedback with this id, and the served verdict; None if there was none."""
        assert self.history is not None
        return await self.history.earlier_answer(self, feedback_id, label, caller)

    def _draft_or_error(self, feedback: Feedback, now: int) -> Draft | SluiceError:
        try:
            return self.draft(feedback, now)
        except SluiceError as refused:
            return refused

    def draft(self, feedback: Feedback, at_milliseconds: int) -> Draft:
        """Return the event for the log. It has only those names that the log does not have yet."""
        example, served = feedback.example, feedback.served
        if 0 < self.max_weights_moved < example.keys.size:  # a label moves only the weights of its features
            raise UpdateVetoed(example.keys.size, self.max_weights_moved)
        if refusal := self.state.model.refusal(example.values):
            raise BadExample(refusal)
        make: Callable[..., FeedbackRecord] = FeedbackRecord
        given = example.given if self.state.model.numbers is not None else 0
        if given or feedback.replaces is not None or feedback.chosen_with is not None:
            make = partial(
                LongFeedbackRecord, given=given, replaces=feedback.replaces, chosen_with=feedback.chosen_with
            )
        record = make(
            at_milliseconds=at_milliseconds,
            label=feedback.label,
            keys=example.keys.tobytes(),
            values=packed_values(example.values),
            names=self._new_names(example),
            served_label=served.label if served else None,
            served_score=served.score if served else None,
            feedback_id=feedback.feedback_id,
            moderator=feedback.moderator,
            prediction_id=feedback.prediction_id,
            served_at_milliseconds=feedback.served_at_milliseconds,
            key_id=feedback.key_id,
            request_id=feedback.request_id,
        )
        fingerprint = fingerprint_of(record) if feedback.feedback_id is not None else ""
        replaces = feedback.replaces.version if feedback.replaces else ""
        return Draft(encode(record), feedback.feedback_id, fingerprint, 0, feedback.prediction_id, replaces)

    def _new_names(self, example: Example) -> Sequence[str]:
        """Return a name per feature, empty where the log has it already; () if it has all."""
        unknown = self.state.unnamed(example.keys).tolist() if example.names else []
        if not unknown:
            return ()
        names = [""] * example.keys.size
        for k in unknown:
            names[k] = example.names[k]
        return names

    def apply(self, entry: Entry) -> Outcome:
        """Apply the next entry of the log, and remember its outcome."""
        event = self._event(entry, self.state.version + 1, self.chain)
        begin = time.perf_counter()
        outcome = advance(self.state, event)
        self.counter.learnt(time.perf_counter() - begin)
        self.chain = entry.chain
        self.remember(entry.version, outcome)
        return outcome

    def apply_all(self, entries: Sequence[Entry]) -> None:
        """Apply the next entries: faster, but without their outcomes."""
        events = self.events_of(entries)
        begin = time.perf_counter()
        advance_all(self.state, events)
        self.counter.learnt(time.perf_counter() - begin, len(events))
        self.chain = entries[-1].chain if entries else self.chain

    def events_of(self, entries: Sequence[Entry]) -> list[Event]:
        """Return the events of the next entries; raise LogReplaced if they do not follow the state."""
        chain, events = self.chain, []
        for version, entry in enumerate(entries, self.state.version + 1):
            events.append(self._event(entry, version, chain))
            chain = entry.chain
        return events

    def outcome_of(self, version: int) -> Outcome | None:
        """Return the outcome of an event, if it is still remembered."""
        return self.outcomes.get(version) if self.outcomes else None

    def remember(self, version: int, outcome: Outcome) -> None:
        """Keep an outcome for a while, in case that the feedback is sent again."""
        if self.outcomes is None:
            self.outcomes = OrderedDict()
        self.outcomes[version] = outcome
        while len(self.outcomes) > OUTCOMES_KEPT:
            self.outcomes.popitem(last=False)

    def replace_by(self, other: "Tenant") -> None:
        """Take over the state of a tenant that was loaded again."""
        self.state, self.incarnation, self.chain = other.state, other.incarnation, other.chain
        self.snapshot_version, self.snapshot_at = other.snapshot_version, other.snapshot_at
        self.snapshot_tried_at, self.snapshot_not_before = other.snapshot_tried_at, other.snapshot_not_before
        self.outcomes = other.outcomes
        self.known_version = 0

    def _event(self, entry: Entry, version: int, chain: str) -> Event:
        if entry.version != version or next_chain(chain, entry.payload) != entry.chain:
            raise LogReplaced(self.name)
        try:
            event = decode(entry.payload, self.left_out)
        except (msgspec.MsgspecError, ValueError, SluiceError) as error:
            reason = f"event {entry.version:,} of its log cannot be read by this version of Sluice ({error})"
            raise TenantDamaged(self.name, reason) from None
        if isinstance(event, RetractionMade) and version > self.decided:
            raise RetractionFound(self.name, version)
        return event


_process, _numbers = token_hex(6), count(1)  # of the ids of feedback that comes without one
