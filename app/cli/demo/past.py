"""A past for the demo of the console: the log of some weeks of moderation as a model file, ready to be imported."""

import heapq
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

import msgspec

from app.cli.demo.moderators import UNASKED_SHARE, decide
from app.features.featurizer import Kind, features_of
from app.learning.config import Value
from app.learning.events import Served
from app.learning.example import Example
from app.learning.first_settings import settings_of_new_tenants
from app.learning.snapshot.model_file import encode as encode_state
from app.learning.snapshot.model_file import join_file, with_log
from app.learning.snapshot.state_copy import copy_state
from app.learning.state import TenantState, advance
from app.storage.event_codec import ConfigRecord, decode, encode
from app.storage.metadata import Position
from app.tenants.tenant import Feedback, Tenant

DAYS: Final = 16
DAY: Final = 86_400_000  # milliseconds
SATURDAY: Final = 5
WEEKEND_SHARE: Final = 0.4  # of the items of another day
BUSY_HOURS: Final = (0.2, 0.1, 0.1, 0.1, 0.1, 0.2, 0.5, 1, 2, 3, 3, 3, 2, 3, 3, 3, 2, 2, 1, 1, 1, 0.5, 0.4, 0.3)
DELAY: Final = (7.6, 1.1)  # of a label: the logarithm of seconds, its mean and deviation; half come within 33 minutes


@dataclass(frozen=True, slots=True, order=True)
class DueLabel:
    """A label that is given at a time."""

    at: int
    number: int
    example: Example = field(compare=False)
    truth: int = field(compare=False)
    served: Served = field(compare=False)
    served_at: int = field(compare=False)
    chosen_with: float | None = field(compare=False)


class Past:
    """Writes the log, one event after the other, as a service would have done."""

    def __init__(self, kind: Kind, settings: Mapping[str, Value], seed: int) -> None:
        self._kind = kind
        self._random = Random(seed)  # noqa: S311 - no security depends on it
        self._now = time.time_ns() // 1_000_000
        self._tenant = Tenant("", TenantState(), Position("", 0, ""))
        self._payloads: list[bytes] = []
        self._due: list[DueLabel] = []
        self._append(encode(ConfigRecord(self._now - DAYS * DAY, {**settings_of_new_tenants(), **settings})))

    def play(self, items: Iterator[tuple[str, int]], count: int) -> None:
        """Predict items at times of the past, and give the labels of those that are due before now."""
        for number, at in enumerate(self._times(count)):
            while self._due and self._due[0].at <= at:
                self._label(heapq.heappop(self._due))
            self._predict(number, at, *next(items))
        for each in sorted(self._due):
            if each.at < self._now:
                self._label(each)

    def file(self) -> bytes:
        """Return the model with its log."""
        header, chunk_bytes = encode_state(copy_state(self._tenant.state))
        header, log = with_log(header, 1, [msgspec.msgpack.encode(self._payloads)])
        return b"".join(map(bytes, join_file(header, lambda each: log[each] if each in log else chunk_bytes(each))))

    def _predict(self, number: int, at: int, raw: str, truth: int) -> None:
        state = self._tenant.state
        example = features_of(self._kind, raw, int(state.config.values["featurizer"] or 0)).example
        score, label = state.predict(example)
        _, share = state.review_of(score, label)
        is_asked = self._random.random() < share
        if is_asked or self._random.random() < UNASKED_SHARE:
            due_at = at + int(1000 * self._random.lognormvariate(*DELAY))
            chosen_with = share if is_asked else None
            heapq.heappush(self._due, DueLabel(due_at, number, example, truth, Served(label, score), at, chosen_with))

    def _label(self, due: DueLabel) -> None:
        moderator, label = decide(self._random, due.truth)
        feedback = Feedback(
            label,
            due.example,
            feedback_id=f"demo-past-{len(self._payloads)}",
            served=due.served,
            moderator=moderator,
            chosen_with=due.chosen_with,
            served_at_milliseconds=due.served_at,
        )
        self._append(self._tenant.draft(feedback, due.at).payload)

    def _append(self, payload: bytes) -> None:
        self._payloads.append(payload)
        advance(self._tenant.state, decode(payload))

    def _times(self, count: int) -> list[int]:
        """Return times in order: more by day than by night, fewer at weekends."""
        today = self._now // DAY * DAY
        days = [today - k * DAY for k in range(DAYS)]
        weights = [WEEKEND_SHARE if time.gmtime(day / 1000).tm_wday >= SATURDAY else 1.0 for day in days]
        drawn = (
            day + int(DAY * (hour + self._random.random()) / len(BUSY_HOURS))
            for day, hour in zip(
                self._random.choices(days, weights, k=count),
                self._random.choices(range(len(BUSY_HOURS)), BUSY_HOURS, k=count),
                strict=True,
            )
        )
        return sorted(at for at in drawn if at < self._now)
