"""Everything that a worker counts: requests, store commands, and each tenant's predictions and labels.

The busiest tenants are counted under their names, all others together. A tenant's series is chosen when something is
counted, so no counter ever goes back: a tenant that becomes busy starts at 0 under its own name, and what it counted
for the others stays there. All of this is one module because every request passes through it.
"""

import heapq
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

SCORES: Final = (-5.0, -2.0, -1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0, 2.0, 5.0)
DELAYS: Final = (1.0, 10.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 43_200.0, 86_400.0, 259_200.0, 604_800.0)
DURATIONS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ROUND_TRIPS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
OTHER_METHOD = "other"  # a client may send any word as its method
REVIEW_EVENTS: Final = ("leased", "settled", "skipped", "unsure", "released", "renewed", "expired", "dropped")
SHED_FOR = ("concurrency", "connections", "key_concurrency", "lag", "rate", "wrong_key")

OTHER = "_other"  # not a valid tenant name
ELECTION_SECONDS = 60.0
INCUMBENT = 2  # a named tenant keeps its name until another one is this many times as busy


class Histogram:
    """Counts of values per bucket, and their sum. It takes a sixth of the time of prometheus-client's histogram."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def cumulative(self) -> list[tuple[str, float]]:
        """Return Prometheus buckets: for each upper bound, the number of values at or below it."""
        buckets, seen = [], 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            seen += count
            buckets.append((bound, float(seen)))
        return buckets


class Durations:
    """Total time of an operation, and how often it ran."""

    __slots__ = ("count", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0

    def add(self, seconds: float, count: int = 1) -> None:
        """Add the time of `count` runs."""
        self.seconds += seconds
        self.count += count


class Requests:
    """HTTP requests by route, method and status."""

    def __init__(self) -> None:
        self.in_progress = 0  # without event streams
        self.event_streams = 0
        self.in_progress_by_key: dict[str, int] = {}  # without keys that have none
        self.answered: dict[tuple[str, str, int], int] = {}
        self.durations: dict[tuple[str, str], Histogram] = {}
        self.shed = dict.fromkeys(SHED_FOR, 0)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        if method not in METHODS:
            method = OTHER_METHOD
        key = (method, route, status)
        self.answered[key] = self.answered.get(key, 0) + 1
        durations = self.durations.get((method, route))
        if durations is None:
            durations = self.durations[method, route] = Histogram(DURATIONS)
        durations.observe(seconds)

    def key_done(self, key_id: str) -> None:
        """Uncount a request of a key that is no longer in progress."""
        left = self.in_progress_by_key[key_id] - 1
        if left:
            self.in_progress_by_key[key_id] = left
        else:
            del self.in_progress_by_key[key_id]


class Commands:
    """Commands to the store: how long they took, and how many failed."""

    def __init__(self) -> None:
        self.durations: dict[str, Histogram] = {}
        self.errors: dict[str, int] = {}

    def count(self, command: str, seconds: float, *, failed: bool) -> None:
        """Count a command that is over."""
        durations = self.durations.get(command)
        if durations is None:
            durations = self.durations[command] = Histogram(ROUND_TRIPS)
            self.errors[command] = 0
        durations.observe(seconds)
        self.errors[command] += failed


class TenantSeries:
    """The counters under one tenant label. A cell is 2 * (label is 1) + (verdict is 1)."""

    __slots__ = ("delays", "labels", "predictions", "review", "scores", "served")

    def __init__(self) -> None:
        self.labels = [0, 0, 0, 0]
        self.served = [0, 0, 0, 0]
        self.predictions = [0, 0]
        self.review = dict.fromkeys(REVIEW_EVENTS, 0)
        self.scores = Histogram(SCORES)
        self.delays = Histogram(DELAYS)


class TenantCounter:
    """Counts the events of one tenant, under its own name or with the others."""

    __slots__ = ("_learning", "_scoring", "name", "series", "uses")

    def __init__(self, name: str, series: TenantSeries, scoring: Durations, learning: Durations) -> None:
        self.name = name
        self.series = series
        self.uses = 0
        self._scoring = scoring
        self._learning = learning

    def scored(self, seconds: float, score: float, label: int) -> None:
        """Count one prediction."""
        self.uses += 1
        self._scoring.add(seconds)
        self.series.predictions[label > 0] += 1
        self.series.scores.observe(score)

    def scored_all(self, seconds: float, scores: Sequence[float], anomalies: int) -> None:
        """Count a batch of predictions."""
        self.uses += len(scores)
        self._scoring.add(seconds, len(scores))
        self.series.predictions[0] += len(scores) - anomalies
        self.series.predictions[1] += anomalies
        for score in scores:
            self.series.scores.observe(score)

    def learnt(self, seconds: float, count: int = 1) -> None:
        """Count applied events, from this worker or any other."""
        self._learning.add(seconds, count)

    def labelled(self, label: int, predicted: int) -> None:
        """Count a label that came through this worker."""
        self.uses += 1
        self.series.labels[2 * (label > 0) + (predicted > 0)] += 1

    def labelled_served(self, label: int, served: int, delay_seconds: float | None) -> None:
        """Count a label for a prediction that had been served."""
        self.series.served[2 * (label > 0) + (served > 0)] += 1
        if delay_seconds is not None:
            self.series.delays.observe(max(delay_seconds, 0.0))

    def reviewed(self, event: str, number: int = 1) -> None:
        """Count what happened to items of the review queue: one of REVIEW_EVENTS."""
        self.series.review[event] += number


class TenantCounters:
    """The counters of all tenants that this worker has met, and which of them are exported by name."""

    def __init__(
        self, at_most: int = 100, always: Collection[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.scoring = Durations()
        self.learning = Durations()
        self._at_most = at_most
        self._always = frozenset(always)
        self._clock = clock
        self._others = TenantSeries()
        self.counters: dict[str, TenantCounter] = {}
        self._chosen: dict[str, TenantCounter] = {}  # named because they are busy
        self._elected_at = clock()

    def of(self, name: str) -> TenantCounter:
        """Return the counter of a tenant: the same object for as long as the worker runs."""
        counter = self.counters.get(name)
        if counter is None:
            counter = self.counters[name] = TenantCounter(name, self._others, self.scoring, self.learning)
            if name in self._always:
                counter.series = TenantSeries()
            elif len(self._chosen) < self._at_most:
                self._choose(counter)
        return counter

    def forget(self, name: str) -> None:
        """Drop the counter of a deleted tenant."""
        self.counters.pop(name, None)
        self._chosen.pop(name, None)

    def named(self) -> list[str]:
        """Return the tenants that are exported by name."""
        return [*self._chosen, *(name for name in self._always if name in self.counters)]

    def series(self) -> Iterator[tuple[str, TenantSeries]]:
        """Yield every series with its tenant label."""
        named = [self.counters[name] for name in self.named()]
        yield from ((counter.name, counter.series) for counter in named)
        if len(named) < len(self.counters) or any(self._others.predictions) or any(self._others.labels):
            yield OTHER, self._others

    def elect(self) -> None:
        """Choose the busiest tenants again, at most once a minute."""
        now = self._clock()
        rivals = len(self.counters) - len(self._always & self.counters.keys())
        if now - self._elected_at < ELECTION_SECONDS:
            return
        self._elected_at = now
        if rivals > self._at_most:
            self._elect()
        for counter in self.counters.values():
            counter.uses //= 2  # older uses count less

    def _elect(self) -> None:
        candidates = [counter for counter in self.counters.values() if counter.name not in self._always]
        busiest = heapq.nlargest(self._at_most, candidates, key=self._weight)
        before, self._chosen = self._chosen, {}
        for counter in busiest:
            if counter.name in before:
                self._chosen[counter.name] = counter
            else:
                self._choose(counter)
        for name, counter in before.items():
            if name not in self._chosen:
                counter.series = self._others

    def _weight(self, counter: TenantCounter) -> tuple[int, str]:
        return counter.uses * (INCUMBENT if counter.name in self._chosen else 1), counter.name

    def _choose(self, counter: TenantCounter) -> None:
        counter.series = TenantSeries()
        self._chosen[counter.name] = counter


UNCOUNTED = TenantCounter(OTHER, TenantSeries(), Durations(), Durations())  # outside the cache, as in a replay


class Telemetry:
    """All counters of one worker."""

    def __init__(self, tenants: TenantCounters | None = None) -> None:
        self.tenants = tenants or TenantCounters()
        self.requests = Requests()
        self.commands = Commands()
        self.loads = 0
        self.evictions = 0
        self.repairs = 0
        self.keys_restored = 0
        self.outcome_replays = 0
        self.labels_retracted = 0
        self.snapshots_taken = 0
        self.snapshots_failed = 0
        self.snapshot_bytes = 0
        self.not_kept = 0
        self.inputs_kept = self.inputs_not_kept = 0
