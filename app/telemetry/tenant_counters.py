"""What is counted of tenants: the busiest under their names, all others together.

Whether a tenant is counted under its name is decided when something is counted, so that no counter ever goes back: a
tenant that becomes busy begins at 0 under its name, and what it had counted for the others stays there.
"""

import heapq
import time
from collections.abc import Callable, Collection, Iterator, Sequence

from app.telemetry.histogram import DELAYS, SCORES, Distribution, Timing

OTHER = "_other"  # no tenant can be called so
ELECTION_SECONDS = 60.0
INCUMBENT = 2  # a tenant with a name keeps it until another one is so many times as busy


class TenantMeter:
    """The counters of one tenant, or of all others together. A cell is 2 * (label is 1) + (verdict is 1)."""

    __slots__ = ("delays", "labels", "predictions", "scores", "served")

    def __init__(self) -> None:
        self.labels = [0, 0, 0, 0]
        self.served = [0, 0, 0, 0]
        self.predictions = [0, 0]
        self.scores = Distribution(SCORES)
        self.delays = Distribution(DELAYS)


class TenantWatch:
    """Where one tenant counts what happens to it."""

    __slots__ = ("_learning", "_scoring", "meter", "name", "uses")

    def __init__(self, name: str, meter: TenantMeter, scoring: Timing, learning: Timing) -> None:
        self.name = name
        self.meter = meter
        self.uses = 0
        self._scoring = scoring
        self._learning = learning

    def scored(self, seconds: float, score: float, label: int) -> None:
        """One verdict was given."""
        self.uses += 1
        self._scoring.add(seconds)
        self.meter.predictions[label > 0] += 1
        self.meter.scores.observe(score)

    def scored_all(self, seconds: float, scores: Sequence[float], anomalies: int) -> None:
        """Several verdicts were given."""
        self.uses += len(scores)
        self._scoring.add(seconds, len(scores))
        self.meter.predictions[0] += len(scores) - anomalies
        self.meter.predictions[1] += anomalies
        self.meter.scores.observe_all(scores)

    def learnt(self, seconds: float, count: int = 1) -> None:
        """Events were applied, of whomever."""
        self._learning.add(seconds, count)

    def labelled(self, label: int, predicted: int) -> None:
        """A label was given here."""
        self.uses += 1
        self.meter.labels[2 * (label > 0) + (predicted > 0)] += 1

    def answered(self, label: int, served: int, delay_seconds: float | None) -> None:
        """It was a label for a verdict that had been served."""
        self.meter.served[2 * (label > 0) + (served > 0)] += 1
        if delay_seconds is not None:
            self.meter.delays.observe(max(delay_seconds, 0.0))


class TenantWatches:
    """The watches of all tenants that this worker has met, and whose are told by name."""

    def __init__(
        self, at_most: int = 100, always: Collection[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.scoring = Timing()
        self.learning = Timing()
        self._at_most = at_most
        self._always = frozenset(always)
        self._clock = clock
        self._others = TenantMeter()
        self.watches: dict[str, TenantWatch] = {}
        self._chosen: dict[str, TenantWatch] = {}  # told by name because they are busy
        self._elected_at = clock()

    def of(self, name: str) -> TenantWatch:
        """The watch of a tenant, the same as long as the worker lives."""
        watch = self.watches.get(name)
        if watch is None:
            watch = self.watches[name] = TenantWatch(name, self._others, self.scoring, self.learning)
            if name in self._always:
                watch.meter = TenantMeter()
            elif len(self._chosen) < self._at_most:
                self._choose(watch)
        return watch

    def forget(self, name: str) -> None:
        """The tenant was deleted."""
        self.watches.pop(name, None)
        self._chosen.pop(name, None)

    def named(self) -> list[str]:
        """The tenants that are told by their names."""
        return [*self._chosen, *(name for name in self._always if name in self.watches)]

    def meters(self) -> Iterator[tuple[str, TenantMeter]]:
        """All counters with the names under which they are told."""
        named = [self.watches[name] for name in self.named()]
        yield from ((watch.name, watch.meter) for watch in named)
        if len(named) < len(self.watches) or any(self._others.predictions) or any(self._others.labels):
            yield OTHER, self._others

    def elect(self) -> None:
        """Now and then, find out anew who is busy."""
        now = self._clock()
        rivals = len(self.watches) - len(self._always & self.watches.keys())
        if now - self._elected_at < ELECTION_SECONDS:
            return
        self._elected_at = now
        if rivals > self._at_most:
            self._elect()
        for watch in self.watches.values():
            watch.uses //= 2  # what was long ago counts less

    def _elect(self) -> None:
        candidates = [watch for watch in self.watches.values() if watch.name not in self._always]
        busiest = heapq.nlargest(self._at_most, candidates, key=self._weight)
        before, self._chosen = self._chosen, {}
        for watch in busiest:
            if watch.name in before:
                self._chosen[watch.name] = watch
            else:
                self._choose(watch)
        for name, watch in before.items():
            if name not in self._chosen:
                watch.meter = self._others

    def _weight(self, watch: TenantWatch) -> tuple[int, str]:
        return watch.uses * (INCUMBENT if watch.name in self._chosen else 1), watch.name

    def _choose(self, watch: TenantWatch) -> None:
        watch.meter = TenantMeter()
        self._chosen[watch.name] = watch


NOBODY = TenantWatch(OTHER, TenantMeter(), Timing(), Timing())  # for a tenant that nobody watches, as in a replay
