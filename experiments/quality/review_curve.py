"""What review teaches: labels for what the review policy chooses, beside labels for random inputs."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np

from app.learning.events import FeedbackGiven
from app.learning.example import Example
from app.learning.example import Examples as Inputs
from app.learning.first_settings import settings_of_new_tenants
from app.learning.state import TenantState, apply
from experiments.examples import Examples
from experiments.quality.streams import JPCERT, PDD, TREC, samples_of, streams
from experiments.quality.verdicts import confusion
from experiments.tasks import Task
from load_tests.harness.report import Target, table

CURVE = "review"
STREAMS, STREAM_RATIOS = (PDD, JPCERT, TREC), ("1:19", "1:99")
RATES = (0.01, 0.02, 0.03)  # labels for each input with the policy
TIMES = 4  # as many labels for random inputs
SEEDS = (1, 2, 3)
HELD_OUT = 0.3  # the last part, for which there are no labels
ARRIVING = 200  # inputs that are scored before the next labels come
WINDOW = 5000  # inputs over which the demand for reviews is estimated, in place of an hour
ENOUGH_STREAMS = 3


class Reviewed(msgspec.Struct, frozen=True):
    """Labels given and the balanced accuracy on the rest of the stream: means over the samples."""

    labels: float
    anomalies: float
    balanced: float


class Point(msgspec.Struct, frozen=True):
    """The policy, and random review with as many labels and with several times as many."""

    stream: str
    ratio: str
    rate: float
    policy: Reviewed
    random: Reviewed
    more: Reviewed

    @property
    def is_reached(self) -> bool:
        return self.policy.balanced >= self.more.balanced


def tasks(names: Iterable[str], ratios: Iterable[str], work: Path, limit: int | None) -> list[Task]:
    cells = [(name, ratio) for name in STREAMS if name in names for ratio in STREAM_RATIOS if ratio in ratios]
    return [
        Task(CURVE, f"{name} {ratio}", 60.0, curve, {"name": name, "ratio": ratio, "work": str(work), "limit": limit})
        for name, ratio in cells
    ]


def curve(name: str, ratio: str, work: str, limit: int | None) -> list[Point]:
    """Play all samples of a stream at all rates."""
    samples = [each.lines for each in samples_of(streams()[name].read(Path(work), limit), ratio, list(SEEDS))]
    return [
        Point(name, ratio, rate, *(_mean(samples, *how) for how in (("policy", rate), ("", rate), ("", TIMES * rate))))
        for rate in RATES
        if samples
    ]


def _mean(samples: Sequence[Examples], how: str, rate: float) -> Reviewed:
    found = [review(lines, rate, seed, by_policy=bool(how)) for lines, seed in zip(samples, SEEDS, strict=False)]
    return Reviewed(*(fmean(values) for values in zip(*map(msgspec.structs.astuple, found), strict=True)))


def review(lines: Examples, rate: float, seed: int, *, by_policy: bool) -> Reviewed:
    """Learn labels for a share of the first part of a stream; judge the rest with what was learnt."""
    state, rng = TenantState(settings_of_new_tenants()), np.random.default_rng(seed)
    end = round((1.0 - HELD_OUT) * len(lines))
    labels = anomalies = 0
    demand = seen = 0.0
    for start in range(0, end, ARRIVING):
        part = lines.between(start, min(start + ARRIVING, end))
        probabilities = np.full(len(part), rate)
        if by_policy:
            shares = np.array([state.review_of(score, label)[1] for score, label in state.predict_all(_inputs(part))])
            kept = max(1.0 - len(part) / WINDOW, 0.0)
            demand, seen = kept * demand + shares.sum(), kept * seen + len(part)
            probabilities = shares * min(rate * seen / demand, 1.0)
        for line in np.flatnonzero(rng.random(len(part)) < probabilities).tolist():
            label = int(part.labels[line])
            apply(state, FeedbackGiven(_example(part, line), label, chosen_with=float(probabilities[line])))
            labels += 1
            anomalies += part.labels[line] > 0.0
    rest = lines.between(end, len(lines))
    said = np.array([label for _, label in state.predict_all(_inputs(rest))], np.float64)
    return Reviewed(labels, int(anomalies), confusion(rest.labels, said).balanced_accuracy or 0.0)


def _inputs(part: Examples) -> Inputs:
    first, last = part.starts[0], part.starts[-1]
    return Inputs(part.starts - first, np.array(part.keys[first:last]), np.array(part.values[first:last]))


def _example(part: Examples, line: int) -> Example:
    some = slice(part.starts[line], part.starts[line + 1])
    return Example(part.keys[some], part.values[some])


def section(points: Sequence[Point]) -> str:
    rows = (
        (
            point.stream,
            point.ratio,
            f"{100.0 * point.rate:g}",
            *(f"{100.0 * each.balanced:.1f}" for each in (point.policy, point.random, point.more)),
            *(f"{each.labels:,.0f} ({each.anomalies:,.0f})" for each in (point.policy, point.random, point.more)),
            "yes" if point.is_reached else "**no**",
        )
        for point in points
    )
    by_labels = f"random, {TIMES} x"
    header = (
        *("stream", "ratio", "labels for % of inputs", "policy, balanced %", "random", by_labels),
        *("labels of the policy (anomalies)", "of random", f"of {by_labels}", "reached"),
    )
    return table(header, rows)


def targets(points: Sequence[Point]) -> Iterator[Target]:
    """At the largest rate, the policy must reach random review with a quarter of its labels on three streams."""
    last = [point for point in points if point.rate == RATES[-1]]
    reached = {
        name
        for name in STREAMS
        if (own := [p for p in last if p.stream == name]) and all(point.is_reached for point in own)
    }
    if {point.stream for point in last} == {*STREAMS}:
        text = f"Streams on which labels by the policy reach {TIMES} times as many random ones"
        yield Target(text, f"at least {ENOUGH_STREAMS}", f"{len(reached)}", len(reached) >= ENOUGH_STREAMS)
