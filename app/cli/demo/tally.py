"""Counts how verdicts compare with labels, as the demo sees them."""

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from app.datasets.synthetic_urls import SyntheticUrl
from app.learning.parts.confusion import Confusion

RECENT: Final = 200  # labels behind the live figures
SPAN: Final = 400  # labels behind the figures before and after a change


class Label(NamedTuple):
    """A label, the verdict of the model just before it learnt the label, and the verdict that was served."""

    label: int
    predicted: int
    served: int


def confusion(verdicts: Iterable[tuple[int, int]]) -> Confusion:
    """Count pairs of a label and a verdict."""
    counts = [0, 0, 0, 0]
    for label, verdict in verdicts:
        counts[2 * (label > 0) + (verdict > 0)] += 1
    return Confusion(*counts)


def by_model(labels: Iterable[Label]) -> Confusion:
    """Count the verdicts just before each label was learnt: test, then train."""
    return confusion((each.label, each.predicted) for each in labels)


def as_served(labels: Iterable[Label]) -> Confusion:
    """Count the verdicts that were served, by the model of that time."""
    return confusion((each.label, each.served) for each in labels)


@dataclass(slots=True)
class Campaign:
    """The first and the last labels between two changes."""

    number: int
    first: list[Label] = field(default_factory=list)
    last: deque[Label] = field(default_factory=lambda: deque(maxlen=SPAN))

    def add(self, label: Label) -> None:
        """Add one label."""
        self.last.append(label)
        if len(self.first) < SPAN:
            self.first.append(label)


class Tally:
    """The labels of one run. Threads may add to it concurrently; its memory is bounded."""

    def __init__(self) -> None:
        self.before: Campaign | None = None
        self.now = Campaign(0)
        self.recent: deque[Label] = deque(maxlen=RECENT)
        self.caught: SyntheticUrl | None = None  # the last attack that the model flagged
        self._model, self._served = [0, 0, 0, 0], [0, 0, 0, 0]
        self._lock = threading.Lock()

    def add(self, item: SyntheticUrl, label: Label) -> None:
        """Count a label that was acknowledged."""
        with self._lock:
            self._model[2 * (label.label > 0) + (label.predicted > 0)] += 1
            self._served[2 * (label.label > 0) + (label.served > 0)] += 1
            self.recent.append(label)
            if item.campaign > self.now.number:
                self.before, self.now = self.now, Campaign(item.campaign)
            (self.now if item.campaign == self.now.number or self.before is None else self.before).add(label)
            if label.label == label.predicted == 1:
                self.caught = item

    @property
    def labels(self) -> int:
        """The number of labels."""
        return sum(self._model)

    @property
    def model(self) -> Confusion:
        """All verdicts just before learning."""
        return Confusion(*self._model)

    @property
    def served(self) -> Confusion:
        """All verdicts that were served."""
        return Confusion(*self._served)

    def latest(self) -> list[Label]:
        """The labels behind the live figures."""
        with self._lock:
            return list(self.recent)
