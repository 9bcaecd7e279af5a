"""Counting how verdicts met labels, as the demo sees it."""

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from app.datasets.synthetic_urls import SyntheticUrl
from app.learning.prequential import Confusion

RECENT: Final = 200  # labels that the live figures are over
SPAN: Final = 400  # labels that the figures before and after a change are over


class Given(NamedTuple):
    """A label, what the model said just before it learnt it, and what had been served when it was asked."""

    label: int
    predicted: int
    served: int


def confusion(verdicts: Iterable[tuple[int, int]]) -> Confusion:
    """Count pairs of a label and a verdict."""
    counts = [0, 0, 0, 0]
    for label, verdict in verdicts:
        counts[2 * (label > 0) + (verdict > 0)] += 1
    return Confusion(*counts)


def by_model(given: Iterable[Given]) -> Confusion:
    """Verdicts of just before each label was learnt: test, then train."""
    return confusion((each.label, each.predicted) for each in given)


def as_served(given: Iterable[Given]) -> Confusion:
    """Verdicts that had been served, by the model of that time."""
    return confusion((each.label, each.served) for each in given)


@dataclass(slots=True)
class Campaign:
    """Labels of the time between two changes: the first ones and the last ones."""

    number: int
    first: list[Given] = field(default_factory=list)
    last: deque[Given] = field(default_factory=lambda: deque(maxlen=SPAN))

    def add(self, given: Given) -> None:
        """Count one."""
        self.last.append(given)
        if len(self.first) < SPAN:
            self.first.append(given)


class Tally:
    """The labels of one run. Threads may add to it at the same time; it stays small, however long the run is."""

    def __init__(self) -> None:
        self.before: Campaign | None = None
        self.now = Campaign(0)
        self.recent: deque[Given] = deque(maxlen=RECENT)
        self.caught: SyntheticUrl | None = None  # the last attack that the model knew
        self._model, self._served = [0, 0, 0, 0], [0, 0, 0, 0]
        self._lock = threading.Lock()

    def add(self, item: SyntheticUrl, given: Given) -> None:
        """Count a label that was acknowledged."""
        with self._lock:
            self._model[2 * (given.label > 0) + (given.predicted > 0)] += 1
            self._served[2 * (given.label > 0) + (given.served > 0)] += 1
            self.recent.append(given)
            if item.campaign > self.now.number:
                self.before, self.now = self.now, Campaign(item.campaign)
            (self.now if item.campaign == self.now.number or self.before is None else self.before).add(given)
            if given.label == given.predicted == 1:
                self.caught = item

    @property
    def labels(self) -> int:
        """How many there were."""
        return sum(self._model)

    @property
    def model(self) -> Confusion:
        """All verdicts of just before learning."""
        return Confusion(*self._model)

    @property
    def served(self) -> Confusion:
        """All verdicts that had been served."""
        return Confusion(*self._served)

    def latest(self) -> list[Given]:
        """The labels that the live figures are over."""
        with self._lock:
            return list(self.recent)
