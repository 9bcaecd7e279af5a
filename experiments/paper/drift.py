"""Tasks: test, then train, on streams that change, with and without forgetting."""

from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from app.learning.config import Value, config_of
from app.learning.model import Model
from app.learning.parts.confusion import Confusion
from app.learning.parts.names import BIAS_KEY
from experiments.examples import Examples, joined
from experiments.paper.protocol import Sizes
from experiments.sets import SOURCES
from experiments.tasks import Task
from kernels.arrays import Floats

STUDY: Final = "drift"
SEED: Final = 2_016
LEARNERS: Final = ("cs-ssol", "cs-fsol", "ftrl")
DEFAULTS: Final = "defaults"
LARGE: Final = "large rates"
# The largest values of the paper's grid, for ELEC2 only: the defaults are made for many rare features.
RATES: Final[dict[str, dict[str, dict[str, Value]]]] = {
    DEFAULTS: {name: {} for name in LEARNERS},
    LARGE: {"cs-ssol": {"eta": 512.0, "r": 32.0}, "cs-fsol": {"eta": 512.0}, "ftrl": {"eta": 512.0}},
}
# name, window, whether it has a bias, rates, seconds
IN_ORDER: Final = (
    ("phishtank", 5_000, False, (DEFAULTS,), 14.0),
    ("jpcert", 5_000, False, (DEFAULTS,), 9.0),
    ("elec2", 1_000, True, (DEFAULTS, LARGE), 3.0),
)
FLIP: Final = "flip"
FLIPPED: Final = "phishstorm"
FLIP_WINDOW: Final = 2_000
PAST_FORGETTING: Final = (0.0, 1e-4)

Cells = NDArray[np.float64]  # one row per window: anomalies, true positives, normal examples, true negatives
RESAMPLES: Final = 1_000
LEVEL: Final = 0.95
RECOVERY_WINDOW: Final = 1_000  # examples over which a learner must be
RECOVERY_MARGIN: Final = 0.02  # as good again, but for this,
BEFORE: Final = 10_000  # as over so many before the change


class Played(msgspec.Struct, frozen=True):
    """A learner on a stream; shares from 0 to 1. Intervals are 95%, by a block bootstrap of the windows."""

    learner: str
    rates: str
    forgetting: float
    balanced: float
    interval: tuple[float, float]
    gain: float  # in balanced accuracy, over the same learner without forgetting
    gain_interval: tuple[float, float]  # paired
    windows: list[float | None]
    margins: list[float | None]  # of the windows: half a 95% interval, as if verdicts were independent
    before: float | None = None  # balanced accuracy before and after the flip
    after: float | None = None
    recovered_after: int | None = None  # labels after the flip; None: not until the end


class Recovery(msgspec.Struct, frozen=True):
    """How many labels a learner needs to recover from the flip, by the number of examples before it."""

    learner: str
    forgetting: float
    past: int
    labels: int | None  # None: not until the end


class Drifting(msgspec.Struct, frozen=True):
    """The results on one stream."""

    stream: str
    examples: int
    positives: int
    window: int  # examples
    flipped_at: int | None
    persistent: float  # balanced accuracy of repeating the last label
    played: list[Played]
    recoveries: list[Recovery]


def tasks(sizes: Sizes) -> list[Task]:
    """One task for each stream in order of time, and one for each seed of the flip, where the set is present."""
    common: dict[str, Any] = {"limit": sizes.drift_examples, "forgetting": list(sizes.forgetting)}
    found = []
    for name, window, bias, rates, seconds in IN_ORDER:
        if SOURCES[name].absent():
            continue
        own = {"stream": name, "window": sizes.drift_window or window, "bias": bias, "rates": list(rates)}
        found.append(Task(STUDY, name, 0.7 if sizes.is_quick else seconds, run_in_order, common | own))
    for seed in range(0 if SOURCES[FLIPPED].absent() else sizes.drift_seeds):
        own = {"seed": seed, "window": sizes.drift_window or FLIP_WINDOW, "pasts": list(sizes.pasts)}
        found.append(Task(STUDY, f"flip, seed {seed}", 0.7 if sizes.is_quick else 12.0, run_flip, common | own))
    return found


def run_in_order(  # noqa: PLR0913 - the arguments of a task
    *, stream: str, limit: int | None, window: int, bias: bool, rates: list[str], forgetting: list[float]
) -> Drifting:
    found = joined(SOURCES[stream].train(limit), BIAS_KEY if bias else 0)
    played = [one for which in rates for name in LEARNERS for one in _played(found, name, which, forgetting, window)]
    return _drifting(stream, found.labels, window, None, played, [])


def run_flip(*, limit: int | None, seed: int, window: int, pasts: list[int], forgetting: list[float]) -> Drifting:
    whole = joined(SOURCES[FLIPPED].train(limit))
    found = flipped(whole, seed)
    change = len(found) // 2
    played = [one for name in LEARNERS for one in _played(found, name, DEFAULTS, forgetting, window, change)]
    recoveries = []
    for past in pasts:
        shorter = flipped(whole, seed, past)
        for learner in LEARNERS:
            for share in PAST_FORGETTING:
                labels = recovery(shorter.labels, scores_of(shorter, learner, share), past)
                recoveries.append(Recovery(learner, share, past, labels))
    recoveries += [
        Recovery(each.learner, each.forgetting, change, each.recovered_after)
        for each in played
        if each.forgetting in PAST_FORGETTING
    ]
    return _drifting(FLIP, found.labels, window, change, played, recoveries)


def flipped(whole: Examples, seed: int, past: int | None = None) -> Examples:
    """Shuffle a set, and flip the labels of the second half; `past` shortens the first half."""
    rows = np.random.default_rng([SEED, seed]).permutation(len(whole))
    half = rows.size // 2
    labels = whole.labels.copy()
    labels[rows[half:]] *= -1.0
    turned = Examples(whole.starts, whole.keys, whole.values, labels)
    return turned.select(rows[0 if past is None else half - past :])


def scores_of(stream: Examples, learner: str, forgetting: float = 0.0, rates: str = DEFAULTS) -> Floats:
    """Test, then train: return the score of each example before it is learnt."""
    config = config_of({"algorithm": learner, "forgetting": forgetting, **RATES[rates][learner]})
    return Model(config).stream(stream.starts, stream.keys, stream.values, stream.labels)


def cells(labels: Floats, scores: Floats, window: int) -> Cells:
    """Count each window of so many examples; the last may be shorter."""
    return np.add.reduceat(_outcomes(labels, scores), np.arange(0, labels.size, window), axis=0)


def balanced(counted: Cells) -> float | None:
    """Return the balanced accuracy over all windows; None without both classes."""
    total = counted.sum(axis=0)
    return float(_shares(total)) if total[0] and total[2] else None


def margins(counted: Cells) -> list[float | None]:
    """Return half the width of a 95% interval of each window, as if verdicts were independent."""
    return [
        Confusion(left, normal - left, anomalies - found, found).balanced_accuracy_margin
        for anomalies, found, normal, left in counted.tolist()
    ]


def resampled(counted: Cells) -> Floats:
    """Bootstrap windows, with the same draws for every learner, so that differences of learners are paired."""
    count = len(counted)
    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1.0 / count), RESAMPLES)
    return _shares(drawn @ counted)


def interval(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(values, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return float(low), float(high)


def recovery(labels: Floats, scores: Floats, change: int) -> int | None:
    """Return the labels until the learner is about as good as before the change; None if it never is."""
    outcomes = _outcomes(labels, scores)
    level = balanced(outcomes[max(0, change - BEFORE) : change])
    assert level is not None, "a stream has both classes before its change"
    sums = np.vstack([np.zeros(4), np.cumsum(outcomes[change:], axis=0)])
    reached = _shares(sums[RECOVERY_WINDOW:] - sums[:-RECOVERY_WINDOW]) >= level - RECOVERY_MARGIN
    return int(np.argmax(reached)) + RECOVERY_WINDOW if reached.any() else None


def _outcomes(labels: Floats, scores: Floats) -> Cells:
    positive, said = labels > 0.0, scores > 0.0
    return np.stack([positive, positive & said, ~positive, ~positive & ~said], axis=1).astype(np.float64)


def _shares(totals: Cells) -> Floats:
    with np.errstate(invalid="ignore"):  # a window without one of the classes is not a number, and above no level
        return np.asarray((totals[..., 1] / totals[..., 0] + totals[..., 3] / totals[..., 2]) / 2.0)


def _drifting(  # noqa: PLR0913, PLR0917 - the result is all of these
    name: str, labels: Floats, window: int, flipped_at: int | None, played: list[Played], recoveries: list[Recovery]
) -> Drifting:
    persistent = balanced(cells(labels[1:], labels[:-1], window))
    assert persistent is not None, "a stream has both classes"
    positives = int(np.count_nonzero(labels > 0.0))
    return Drifting(name, labels.size, positives, window, flipped_at, persistent, played, recoveries)


def _played(  # noqa: PLR0913, PLR0917 - the arguments of a task
    stream: Examples, learner: str, rates: str, forgetting: list[float], window: int, change: int | None = None
) -> list[Played]:
    """Play the learner with each forgetting; the first is the baseline of the gains."""
    labels = stream.labels
    found: list[Played] = []
    first: tuple[float, Floats] | None = None
    for share in forgetting:
        scores = scores_of(stream, learner, share, rates)
        counted = cells(labels, scores, window)
        own, drawn = balanced(counted), resampled(counted)
        assert own is not None, "a stream has both classes"
        first = first or (own, drawn)
        around: dict[str, Any] = {}
        if change is not None:
            around["before"] = balanced(cells(labels[:change], scores[:change], window))
            around["after"] = balanced(cells(labels[change:], scores[change:], window))
            around["recovered_after"] = recovery(labels, scores, change)
        found.append(
            Played(
                learner=learner,
                rates=rates,
                forgetting=share,
                balanced=own,
                interval=interval(drawn),
                gain=own - first[0],
                gain_interval=interval(drawn - first[1]),
                windows=[balanced(one[None, :]) for one in counted],
                margins=margins(counted),
                **around,
            )
        )
    return found
