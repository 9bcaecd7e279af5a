"""What a contender is, and Sluice itself; each is tested on an example before it learns its label."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from app.learning.config import Value
from app.learning.events import FeedbackGiven
from app.learning.example import Example
from app.learning.first_settings import settings_of_new_tenants
from app.learning.state import TenantState
from experiments.examples import Examples
from experiments.tasks import code
from kernels.arrays import Floats

OURS = "Sluice"
SPARSE = "Sluice, 90% sparsity"
FEWEST_ERRORS = "Sluice, objective error"
WEIGHT = "weight"  # of an anomaly; a normal example has the weight 1
WEIGHTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
LEAST = 1e-12  # the distance of a verdict from the threshold, so that its sign is never lost
OUR_CODE = ("kernels", "app/learning", "experiments/quality/contenders.py")

Options = dict[str, float | str]
Online = tuple[Callable[[int], float], Callable[[int, float], None]]  # score a line; learn a line with its label


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """The scores before learning, above 0 for an anomaly; and the share of weights that are 0 in the end, if known."""

    scores: Floats
    sparsity: float | None = None


@dataclass(frozen=True, slots=True)
class Contender:
    """A learner with its grid: a list of steps, and weights of an anomaly. Lines with the label 0 are only scored."""

    name: str
    play: Callable[[Examples, Sequence[Options]], list[Played]]  # anew for each of the options
    version: str  # results of another version are not taken from the cache
    steps: tuple[Options, ...] = ({},)
    start: int = 0  # the step at which the search begins
    weights: tuple[float, ...] = (1.0,)
    online: Callable[[Examples, Options], Online] | None = None  # for lines that depend on earlier scores
    takes_raw: bool = False  # inputs instead of features
    beginning: int = 1 << 62  # examples on which points are searched first, at most
    nonzeros: int = 1 << 62  # of these examples
    longest: int = 1 << 62  # nonzeros of a stream that is played
    climbs: bool = False  # also among the neighbours of the best points, on the whole stream

    @property
    def is_ours(self) -> bool:
        return self.name.startswith(OURS)

    def options(self, point: tuple[int, int]) -> Options:
        step, weight = point
        return self.steps[step] if len(self.weights) == 1 else {**self.steps[step], WEIGHT: self.weights[weight]}


def ours() -> list[Contender]:
    """Sluice with the settings of new tenants and with others; a new default or objective needs no change here."""
    first = dict(settings_of_new_tenants())
    settings: dict[str, dict[str, Value]] = {
        OURS: first,
        SPARSE: {**first, "target_sparsity": 0.9},
        **{f"{OURS}, {name}": {"algorithm": name} for name in ("cs-ssol", "cs-sol", "ftrl", "arow")},
    }
    settings |= {f"{OURS}, numbers {form}": {**first, "numbers": form} for form in ("raw", "encoded")}
    settings |= {f"{OURS}, objective {each}": {**first, "objective": each} for each in ("balanced", "error")}
    version = code(OUR_CODE)
    return [
        Contender(name, partial(_play, given), f"{sorted(given.items())} {version}", online=partial(_online, given))
        for name, given in settings.items()
    ]


def _play(given: dict[str, Value], lines: Examples, settings: Sequence[Options]) -> list[Played]:
    assert len(settings) == 1
    state = TenantState(given)
    if lines.labels.all():
        # Numbers are encoded only if a caller gave them; those of our own featurizers never are.
        given_each = np.diff(lines.starts) if lines.given else np.zeros(len(lines), np.int64)
        scores, thresholds = state.learn_batch(lines.starts, lines.keys, lines.values, lines.labels, given_each)
        scores = np.where(scores > thresholds, 1.0, -1.0) * np.maximum(np.abs(scores - thresholds), LEAST)
    else:
        score, learn = _steps(state, lines)
        scores = np.empty(len(lines))
        for line, label in enumerate(lines.labels.tolist()):
            scores[line] = score(line)
            if label:
                learn(line, label)
    weights = state.model.survey().weights
    return [Played(scores, 1.0 - int(np.count_nonzero(weights)) / weights.size if weights.size else None)]


def _online(given: dict[str, Value], lines: Examples, _: Options) -> Online:
    return _steps(TenantState(given), lines)


def _steps(state: TenantState, lines: Examples) -> Online:
    """Score by the verdict that the service gives, whatever its threshold; the size is the distance from it."""

    def example(line: int) -> Example:
        some = slice(lines.starts[line], lines.starts[line + 1])
        return Example(lines.keys[some], lines.values[some], given=int(some.stop - some.start) if lines.given else 0)

    def score(line: int) -> float:
        found, verdict = state.predict(example(line))
        return verdict * max(abs(found - state.model.threshold), LEAST)

    def learn(line: int, label: float) -> None:
        state.learn(FeedbackGiven(example(line), int(label)))

    return score, learn
