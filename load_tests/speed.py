"""Nanoseconds per non-zero of the stream form of the learners, with the limit on the same table."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from app.learning.model import Model
from kernels.learner import totals as place
from kernels.registry import ALGORITHMS
from load_tests.harness.rounds import ROUNDS, Seconds, best_seconds
from load_tests.limit import limits
from load_tests.tables import filled
from load_tests.zipf import Stream

SEVERAL = tuple(name for name in ALGORITHMS if not name.endswith("-full"))  # the others keep a matrix


@dataclass(frozen=True, slots=True)
class Speed:
    """What a learner takes, beside the limit for rows of its size."""

    algorithm: str
    features: int
    load: float
    row_bytes: int
    nanoseconds: float
    limit_nanoseconds: float
    learnt: float

    @property
    def ratio(self) -> float:
        """How many times the limit."""
        return self.nanoseconds / self.limit_nanoseconds


class Contest:
    """Learners that take turns with their limits, and with whatever else is timed beside them."""

    def __init__(self, algorithms: tuple[str, ...], stream: Stream, every_feature: Stream) -> None:
        self._stream = stream
        self._models = {name: filled(name, every_feature) for name in algorithms}

    def candidates(self) -> dict[str, Callable[[], object]]:
        """The learners by their names, and the candidates for each one's limit."""
        found: dict[str, Callable[[], object]] = {}
        for name, model in self._models.items():
            touching = limits(model, self._stream, model.config.algorithm.FRESH)
            found |= {f"{name} {limit}": run for limit, run in touching.items()}
            found[name] = partial(learn, model, self._stream)
        return found

    def speeds(self, seconds: dict[str, Seconds]) -> list[Speed]:
        """What the times mean."""
        return [self._speed(name, model, seconds) for name, model in self._models.items()]

    def _speed(self, name: str, model: Model, seconds: dict[str, Seconds]) -> Speed:
        limit = min(taken.elapsed for key, taken in seconds.items() if key.startswith(f"{name} limit"))
        per_nonzero = 1e9 / self._stream.nonzeros
        self._stream.flip_labels()
        scores = model.stream(self._stream.starts, self._stream.keys, self._stream.values, self._stream.labels)
        return Speed(
            algorithm=name,
            features=model.features,
            load=model.features / (1 << int(model.tally[place.BITS])),
            row_bytes=8 * model.width,
            nanoseconds=seconds[name].elapsed * per_nonzero,
            limit_nanoseconds=limit * per_nonzero,
            learnt=float((self._stream.labels * scores < 1.0).mean()),
        )


def measure(algorithms: tuple[str, ...], stream: Stream, every_feature: Stream, rounds: int = ROUNDS) -> list[Speed]:
    """Let these learners take turns."""
    contest = Contest(algorithms, stream, every_feature)
    return contest.speeds(best_seconds(contest.candidates(), rounds, stream.flip_labels))


def learn(model: Model, stream: Stream) -> object:
    """Test, then train, over the whole stream."""
    return model.stream(stream.starts, stream.keys, stream.values, stream.labels)
