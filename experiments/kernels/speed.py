"""Cost of each learner in stream form, beside a kernel that only reads and writes the rows of the same stream."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from app.learning.config import config_of
from app.learning.model import Model
from experiments.kernels.zipf import Stream
from kernels.arrays import Floats, Keys
from kernels.compiler import kernel
from kernels.learner import totals as place
from kernels.registry import ALGORITHMS
from kernels.table.rows import ONE, Fresh, fetch, find

ROUNDS = 7
SEVERAL = tuple(name for name in ALGORITHMS if not name.endswith("-full"))  # the others keep a matrix
DISTANCES = (8, 16, 32, 64, 128)  # in non-zeros; and once without prefetching, which is best for a table in the cache
UNCHANGED = 0.0  # is added to the state: known only at run time, so that no write can be optimised away


@dataclass(slots=True)
class Seconds:
    """The least time of a run: by the clock, and of all processor cores together."""

    elapsed: float = inf
    processor: float = inf


@dataclass(frozen=True, slots=True)
class Speed:
    """The cost of a learner, beside the limit for rows of its size."""

    algorithm: str
    features: int
    load: float
    row_bytes: int
    nanoseconds: float
    limit_nanoseconds: float
    learnt: float

    @property
    def ratio(self) -> float:
        return self.nanoseconds / self.limit_nanoseconds


def measure(algorithms: Iterable[str], stream: Stream, every_feature: Stream) -> list[Speed]:
    models = {name: filled_model(name, every_feature) for name in algorithms}
    return speeds(models, stream, best_seconds(candidates(models, stream), before_round=stream.flip_labels))


def best_seconds(
    candidates: Mapping[str, Callable[[], object]],
    rounds: int = ROUNDS,
    before_round: Callable[[], object] = lambda: None,
) -> dict[str, Seconds]:
    """Time candidates in turns, so that a noisy moment affects all; the first round is not counted."""
    best = {name: Seconds() for name in candidates}
    for number in range(rounds + 1):
        before_round()
        for name, run in candidates.items():
            elapsed, processor = time.perf_counter(), time.process_time()
            run()
            elapsed, processor = time.perf_counter() - elapsed, time.process_time() - processor
            if number:
                best[name] = Seconds(min(best[name].elapsed, elapsed), min(best[name].processor, processor))
    return best


def filled_model(algorithm: str, every_feature: Stream) -> Model:
    """Return a model that has learnt every feature once, its table grown step by step on the way."""
    model = Model(config_of({"algorithm": algorithm, "max_features": 1 << 31}))
    _learn(model, every_feature)
    assert model.features == every_feature.features
    return model


def candidates(models: Mapping[str, Model], stream: Stream) -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {}
    for name, model in models.items():
        found |= {f"{name} limit {ahead}": run for ahead, run in _limits(model, stream).items()}
        found[name] = partial(_learn, model, stream)
    return found


def speeds(models: Mapping[str, Model], stream: Stream, seconds: Mapping[str, Seconds]) -> list[Speed]:
    per_nonzero, found = 1e9 / stream.nonzeros, []
    for name, model in models.items():
        limit = min(taken.elapsed for key, taken in seconds.items() if key.startswith(f"{name} limit"))
        stream.flip_labels()
        found.append(
            Speed(
                algorithm=name,
                features=model.features,
                load=model.features / (1 << int(model.tally[place.BITS])),
                row_bytes=8 * model.width,
                nanoseconds=seconds[name].elapsed * per_nonzero,
                limit_nanoseconds=limit * per_nonzero,
                learnt=float((stream.labels * _learn(model, stream) < 1.0).mean()),
            )
        )
    return found


def _learn(model: Model, stream: Stream) -> Floats:
    return model.stream(stream.starts, stream.keys, stream.values, stream.labels)


def _limits(model: Model, stream: Stream) -> dict[int, Callable[[], object]]:
    """Return candidates by prefetch distance; the fastest is the limit. They leave the model as it was."""
    rows, state = model.memory.rows, model.config.algorithm.fresh
    slots = np.empty(stream.keys.size, np.uint64)
    missing = _find_all(rows, model.width, 64 - int(model.tally[place.BITS]), stream.keys, slots)
    assert missing == 0, "the table must hold every feature of the stream"
    ahead = {distance: partial(_touch_ahead, rows, slots, state, distance, UNCHANGED) for distance in DISTANCES}
    return {0: partial(_touch, rows, slots, state, UNCHANGED), **ahead}


@kernel
def _find_all(rows: Floats, width: int, shift: int, keys: Keys, slots: Keys) -> int:
    bits = rows.view(np.uint64)
    missing = 0
    for k in range(keys.size):
        slots[k] = find(bits, np.uint64(width), np.uint64(shift), keys[k])
        missing += bits[slots[k]] != keys[k]
    return missing


@kernel
def _touch(rows: Floats, slots: Keys, state: Fresh, change: float) -> None:
    for k in range(np.uint64(slots.size)):
        for j in range(len(state)):
            rows[slots[k] + np.uint64(1 + j)] += change


@kernel
def _touch_ahead(rows: Floats, slots: Keys, state: Fresh, ahead: int, change: float) -> None:
    last = np.uint64(slots.size) - ONE
    for k in range(np.uint64(slots.size)):
        far = slots[min(k + np.uint64(ahead), last)]
        fetch(rows, far + ONE)
        if len(state) > 1:  # the state may lie across two cache lines
            fetch(rows, far + np.uint64(len(state)))
        for j in range(len(state)):
            rows[slots[k] + np.uint64(1 + j)] += change
