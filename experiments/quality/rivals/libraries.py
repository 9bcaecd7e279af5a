"""How other libraries play lines; docs/quality.md describes them."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import linear_model, optim
from sklearn import config_context
from sklearn.linear_model import LogisticRegression, SGDClassifier
from vowpalwabbit import Workspace

from experiments.examples import Examples
from experiments.quality.contenders import WEIGHT, Online, Options, Played
from kernels.arrays import Floats, Ints

CALLS, LARGEST_BLOCK = 200, 50  # scikit-learn learns in single steps up to so many lines, then in blocks
CLASSES = np.array([-1.0, 1.0])
LEAST_BITS = 18
MEMORY = Path("/dev/shm")  # noqa: S108 - files that are read once

csr_matrix = import_module("scipy.sparse").csr_matrix  # scipy comes with scikit-learn and has no types


def play_vw(fixed: tuple[str, ...], lines: Examples, settings: Sequence[Options]) -> list[Played]:
    """Run Vowpal Wabbit in its own C++ loop, whose progressive predictions are those before learning."""
    found = []
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        for options in settings:
            weight = float(options.get(WEIGHT, 1.0))
            text = Path(folder) / f"{weight:g}.vw"  # written once per weight
            if not text.exists():
                tails = _tails(lines)
                heads = {1.0: f"1 {weight:g}", -1.0: "-1", 0.0: ""}
                both = zip(lines.labels.tolist(), tails, strict=True)
                text.write_text("".join([f"{heads[label]}{tail}" for label, tail in both]))
            output = text.with_suffix(".predictions")
            files = ["--data", str(text), "--cache_file", str(text.with_suffix(".cache")), "--predictions", str(output)]
            Workspace(arg_list=[*files, *_vw_options(fixed, lines, options)]).finish()
            found.append(Played(np.array(output.read_text().split(), np.float64)))
    return found


def vw_online(fixed: tuple[str, ...], lines: Examples, options: Options) -> Online:
    model, tails = Workspace(arg_list=_vw_options(fixed, lines, options)), _tails(lines)
    heads = {1.0: f"1 {float(options.get(WEIGHT, 1.0)):g}", -1.0: "-1"}

    def learn(line: int, label: float) -> None:
        model.learn(f"{heads[label]}{tails[line]}")

    return lambda line: float(model.predict(tails[line])), learn


def _vw_options(fixed: tuple[str, ...], lines: Examples, options: Options) -> list[str]:
    bits = max(LEAST_BITS, _columns(lines)[1].bit_length())  # no two features collide
    given = [part for name, value in options.items() if name != WEIGHT for part in (f"--{name}", str(value))]
    return ["--bit_precision", str(bits), "--quiet", *fixed, *given]


@lru_cache(maxsize=8)
def _columns(lines: Examples) -> tuple[NDArray[np.int32], int]:
    return lines.columns()


@lru_cache(maxsize=8)
def _tails(lines: Examples) -> list[str]:
    return vw_tails(lines.starts, _columns(lines)[0], lines.values)


def vw_tails(starts: Ints, columns: NDArray[np.int32], values: Floats) -> list[str]:
    """Write examples as Vowpal Wabbit reads them, without their labels."""
    names, numbers = columns.tolist(), values.tolist()
    return [
        f" | {' '.join([f'{c}:{v:.7g}' for c, v in zip(names[a:b], numbers[a:b], strict=True)])}\n"
        for a, b in pairwise(starts.tolist())
    ]


def play_sgd(lines: Examples, settings: Sequence[Options]) -> list[Played]:
    """Run scikit-learn's SGDClassifier, in blocks on a long stream: each call goes over all weights."""
    matrix, labels = _matrix(lines), lines.labels
    block = min(max(len(lines) // CALLS, 1), LARGEST_BLOCK)
    found = []
    for setting in settings:
        options = dict(setting)
        weight = options.pop(WEIGHT, 1.0)
        model = SGDClassifier(**options, shuffle=False, class_weight={1.0: weight, -1.0: 1.0})
        scores = np.zeros(len(lines))  # nothing is known before the first block
        knows = False
        for start in range(0, len(lines), block):
            rows, known = matrix[start : start + block], labels[start : start + block]
            if knows:
                scores[start : start + block] = rows @ model.coef_.ravel() + model.intercept_  # as decision_function
            taught = known != 0.0
            if taught.any():
                rows = rows if taught.all() else rows[taught]
                with config_context(assume_finite=True, skip_parameter_validation=True):
                    model.partial_fit(rows, known[taught], classes=CLASSES)
                knows = True
        found.append(Played(scores))
    return found


@lru_cache(maxsize=8)
def _matrix(lines: Examples) -> Any:  # noqa: ANN401 - scipy has no types
    slim = lines.without_singletons()
    columns, features = slim.columns()
    return csr_matrix((slim.values, columns, slim.starts), shape=(len(slim), max(features, 1)))


def play_river(optimizer: Callable[..., Any], lines: Examples, settings: Sequence[Options]) -> list[Played]:
    found = []
    for options in settings:
        score, learn = river_online(optimizer, lines, options)
        scores = np.empty(len(lines))
        for line, label in enumerate(lines.labels.tolist()):
            scores[line] = score(line)
            if label:
                learn(line, label)
        found.append(Played(scores))
    return found


def river_online(optimizer: Callable[..., Any], lines: Examples, options: Options) -> Online:
    step = {name: value for name, value in options.items() if name != WEIGHT}
    loss = optim.losses.Log(weight_pos=float(options.get(WEIGHT, 1.0)))
    model: Any = linear_model.LogisticRegression(optimizer(**step), loss)
    examples = _dicts(lines)
    return (
        lambda line: model.predict_proba_one(examples[line])[True] - 0.5,
        lambda line, label: model.learn_one(examples[line], label > 0.0),
    )


@lru_cache(maxsize=2)
def _dicts(lines: Examples) -> list[dict[int, float]]:
    columns = _columns(lines)[0]
    return [
        dict(zip(columns[a:b].tolist(), lines.values[a:b].tolist(), strict=True))
        for a, b in pairwise(lines.starts.tolist())
    ]


def batch_last_half(lines: Examples) -> Floats:
    """Fit scikit-learn's logistic regression, both classes of equal weight, on the first half; score the last."""
    matrix, half = _matrix(lines), len(lines) // 2
    model = LogisticRegression(class_weight="balanced", max_iter=1000)
    found: Floats = model.fit(matrix[:half], lines.labels[:half]).decision_function(matrix[half:])
    return found
