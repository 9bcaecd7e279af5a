"""A tenant in memory: its state, where in its log that stands, and what it lately learnt."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Sequence
from itertools import count
from secrets import token_hex
from typing import Protocol

import msgspec
import numpy as np

from app.learning.errors import BadExample, SluiceError
from app.learning.events import Event, Served
from app.learning.example import Example, Examples
from app.learning.state import Outcome, TenantState, advance, advance_all
from app.storage.event_codec import FeedbackRecord, decode, encode, packed_values
from app.storage.event_log import Draft, Entry, Position, next_chain
from app.telemetry.tenant_counters import NOBODY
from app.tenants.errors import LogReplaced, TenantDamaged, UpdateVetoed

OUTCOMES_KEPT = 1024


class Verdict(msgspec.Struct, frozen=True):
    """What the model says about an example; contributions only if they were asked for, the largest first."""

    label: int
    score: float
    version: int
    algorithm: str
    contributions: Sequence[tuple[str, float]] = ()


class Feedback(msgspec.Struct, frozen=True):
    """A label from outside, with what is known about it."""

    label: int
    example: Example
    feedback_id: str | None = None
    moderator: str | None = None
    prediction_id: str | None = None
    served: Served | None = None
    served_at_milliseconds: int | None = None
    key_id: str | None = None
    request_id: str | None = None


class Given(msgspec.Struct, frozen=True):
    """What became of feedback."""

    feedback_id: str
    outcome: Outcome
    duplicate: bool


class Giver(Protocol):
    """How feedback finds its way into the log."""

    async def give(self, tenant: "Tenant", feedback: Sequence[Feedback]) -> list[Given | SluiceError]:
        """Give several in order."""

    async def again(self, tenant: "Tenant", feedback_id: str, label: int) -> tuple[Given, Served | None] | None:
        """The answer to feedback that was given before under this id."""


class Tenant:
    """One tenant, as far as its log has been applied here."""

    def __init__(self, name: str, state: TenantState, position: Position, snapshot_version: int = 0) -> None:
        self.name = name
        self.state = state
        self.born = position.born
        self.chain = position.chain
        self.snapshot_version = snapshot_version  # of the newest snapshot that we know of
        self.snapshot_at = time.monotonic()  # when that was taken, or we were loaded
        self.snapshot_tried_at = self.snapshot_at
        self.snapshot_not_before = 0.0  # when there is no use in trying
        self.in_flight = 0  # appends whose outcomes somebody waits for
        self.heard = 0  # the highest version that the log is known to have
        self.behind_since = 0.0  # when it became higher than ours
        self.watch = NOBODY
        self.max_weights_moved = 0  # by one label; 0 is no limit
        self.lock = asyncio.Lock()
        self.giver: Giver | None = None  # none while the tenant is being loaded
        self._outcomes: OrderedDict[int, Outcome] | None = None

    @property
    def position(self) -> Position:
        """Where in its log the state stands."""
        return Position(self.born, self.state.version, self.chain)

    def steady(self) -> asyncio.Lock:
        """`async with tenant.steady():` nothing is learnt meanwhile."""
        return self.lock

    def hear(self, version: int) -> None:
        """The log is known to have come to a version."""
        if version > self.heard:
            if self.heard <= self.state.version < version:
                self.behind_since = time.monotonic()
            self.heard = version

    def predict(self, example: Example, explain: int = 0) -> Verdict:
        """Score without learning."""
        state = self.state
        algorithm = str(state.config.values["algorithm"])
        begin = time.perf_counter()
        if not explain:
            score, label = state.predict(example)
            self.watch.scored(time.perf_counter() - begin, score, label)
            return Verdict(label, score, state.version, algorithm)
        score, keys, contributions = state.model.score(example)
        self.watch.scored(time.perf_counter() - begin, score, state.verdict(score))
        largest = np.lexsort((keys, -np.abs(contributions)))[:explain]
        names = dict(zip(example.keys.tolist(), example.names, strict=True))
        shown = [(keys[k].item(), contributions[k].item()) for k in largest if contributions[k] != 0.0]
        named = [(names.get(key) or state.names.name_of(key), value) for key, value in shown]
        return Verdict(state.verdict(score), score, state.version, algorithm, named)

    def predict_all(self, examples: Examples) -> list[Verdict]:
        """Score several without learning, in one go; BadExample if any of them is refused."""
        state = self.state
        version, algorithm = state.version, str(state.config.values["algorithm"])
        begin = time.perf_counter()
        found = state.predict_all(examples)
        seconds = time.perf_counter() - begin
        self.watch.scored_all(seconds, [score for score, _ in found], sum(label > 0 for _, label in found))
        return [Verdict(label, score, version, algorithm) for score, label in found]

    async def give(self, feedback: Sequence[Feedback]) -> list[Given | SluiceError]:
        """Append feedback to the log and learn it; an error stands in place of one that was refused."""
        assert self.giver is not None
        return await self.giver.give(self, feedback)

    async def again(self, feedback_id: str, label: int) -> tuple[Given, Served | None] | None:
        """The answer to feedback that was given before under this id, and what was served; None if there was none."""
        assert self.giver is not None
        return await self.giver.again(self, feedback_id, label)

    def draft(self, feedback: Feedback, at_milliseconds: int) -> Draft:
        """The event that this feedback will be in the log. Only names that the log does not have yet go along."""
        example, served = feedback.example, feedback.served
        if (
            0 < self.max_weights_moved < example.keys.size
        ):  # a label can move the weights of its features, and no others
            raise UpdateVetoed(example.keys.size, self.max_weights_moved)
        if refusal := self.state.model.refusal(example.values):
            raise BadExample(refusal)
        record = FeedbackRecord(
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
        return Draft(encode(record), feedback.feedback_id, fingerprint)

    def _new_names(self, example: Example) -> Sequence[str]:
        """A name for each feature, empty where the log has it already; none if it has all."""
        unknown = self.state.unnamed(example.keys).tolist() if example.names else []
        if not unknown:
            return ()
        names = [""] * example.keys.size
        for k in unknown:
            names[k] = example.names[k]
        return names

    def apply(self, entry: Entry) -> Outcome:
        """Apply the next entry of the log, and remember what it did."""
        event = self._event(entry, self.state.version + 1, self.chain)
        begin = time.perf_counter()
        outcome = advance(self.state, event)
        self.watch.learnt(time.perf_counter() - begin)
        self.chain = entry.chain
        self.remember(entry.version, outcome)
        return outcome

    def apply_all(self, entries: Sequence[Entry]) -> None:
        """Apply the next entries; faster, but what each of them did is not remembered."""
        chain, events = self.chain, []
        for version, entry in enumerate(entries, self.state.version + 1):
            events.append(self._event(entry, version, chain))
            chain = entry.chain
        begin = time.perf_counter()
        advance_all(self.state, events)
        self.watch.learnt(time.perf_counter() - begin, len(events))
        self.chain = chain

    def outcome_of(self, version: int) -> Outcome | None:
        """What an event did, if it is still remembered."""
        return self._outcomes.get(version) if self._outcomes else None

    def remember(self, version: int, outcome: Outcome) -> None:
        """Keep an outcome for a while, for those who ask twice."""
        if self._outcomes is None:
            self._outcomes = OrderedDict()
        self._outcomes[version] = outcome
        while len(self._outcomes) > OUTCOMES_KEPT:
            self._outcomes.popitem(last=False)

    def become(self, other: "Tenant") -> None:
        """Take over what was loaded anew."""
        self.state, self.born, self.chain = other.state, other.born, other.chain
        self.snapshot_version, self.snapshot_at = other.snapshot_version, other.snapshot_at
        self.snapshot_tried_at, self.snapshot_not_before = other.snapshot_tried_at, other.snapshot_not_before
        self._outcomes = None
        self.heard = 0

    def _event(self, entry: Entry, version: int, chain: str) -> Event:
        if entry.version != version or next_chain(chain, entry.payload) != entry.chain:
            raise LogReplaced(self.name)
        try:
            return decode(entry.payload)
        except (msgspec.MsgspecError, ValueError, SluiceError) as error:
            reason = f"event {entry.version:,} of its log cannot be read by this version of Sluice ({error})"
            raise TenantDamaged(self.name, reason) from None


_process, _numbers = token_hex(6), count(1)


def new_feedback_id() -> str:
    """An id for feedback that came without one."""
    return f"{_process}.{next(_numbers)}"


def fingerprint_of(record: FeedbackRecord) -> str:
    """What must be equal for two uses of a feedback_id to be one: the label and the input, in whatever order."""
    keys = np.frombuffer(record.keys, np.uint64)
    order = np.argsort(keys, kind="stable")
    values = np.frombuffer(record.values, f"<f{len(record.values) // keys.size}")[order] if record.values else b""
    digest = hashlib.blake2b(keys[order].tobytes(), digest_size=12)
    digest.update(bytes(values))
    return f"{record.label}:{digest.hexdigest()}"
