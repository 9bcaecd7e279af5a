"""One model: the feature table, what is kept beside it, and the kernels that work on both."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.learning.config import NUMBERED, Config
from app.learning.errors import BadExample
from app.learning.example import Example, Examples
from app.learning.names import BIAS_KEY
from app.learning.prequential import MOST_COUNTED
from kernels.arrays import Bytes, Floats, Ints, Keys
from kernels.examples.canonical import canonical, canonical_batch
from kernels.learner import totals as place
from kernels.table.layout import copy_rows, fits, pack, spread
from kernels.table.memory import Memory
from kernels.table.rows import LEAST_BITS, LOAD, spare, table_size

NO_BIAS = 0
ALL = np.empty(0, np.uint8)
ROWS_AT_ONCE = 65_536
LEAST_DENSE = 16
FULL_VALUE = 1e6
MOST_BITS = 32
SMALL_BITS = 16  # a table up to this size takes little memory, whatever is in it
SPARSEST = 16  # home slots per feature in a larger one: growing leaves 8 at most, removing 5


@dataclass(frozen=True, slots=True)
class Survey:
    """Every feature: key, weight, and evidence (how much the model has seen of it), in the order of the table."""

    keys: Keys
    weights: Floats
    evidence: Floats


class Model:
    """What has been learnt under one configuration."""

    def __init__(self, config: Config) -> None:
        self._algorithm = config.algorithm
        self.width = len(self._algorithm.fresh) + 1
        self.memory = Memory(table_size(LEAST_BITS, self.width))
        self.tally = place.new_totals(LEAST_BITS)
        self.dense = np.zeros((0, 0))
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Go on under another configuration whose state has the same meaning."""
        if "touched" in self._algorithm.state and self.features:
            self._settle()
        self.config = config
        self._algorithm = config.algorithm
        self._settings = config.settings()
        self._bias = np.uint64(BIAS_KEY if config.bias else NO_BIAS)
        self._l2 = config.l2
        self._limited = self._algorithm.state == NUMBERED and not config.l2
        self.threshold = config.threshold

    def _settle(self) -> None:
        """Do the shrinking that rows have not seen yet, while the settings that meant it are still in force."""
        table = self.memory.rows.reshape(-1, self.width)
        used = table[:, 0].view(np.uint64) != 0
        table[used, 1] = self.survey().weights
        table[used, -1] = self.tally[place.GRAVITY]

    def can_become(self, config: Config) -> bool:
        """Whether what has been learnt keeps its meaning under another configuration."""
        return self._algorithm.state == config.algorithm.state

    @property
    def features(self) -> int:
        """Features with a row in the table."""
        return int(self.tally[place.FEATURES])

    @property
    def dropped(self) -> int:
        """How often a new feature found the table at its limit."""
        return int(self.tally[place.DROPPED])

    @property
    def bytes(self) -> int:
        """Memory of the table and the matrix."""
        return int(self.memory.rows.nbytes + self.dense.nbytes)

    @property
    def scalars(self) -> Floats:
        """What is learnt beside rows and matrix."""
        return self.tally[: place.BITS]

    @property
    def dense_in_use(self) -> Floats:
        """The part of the matrix that features have: theta, then the lines of A^-1."""
        used = self.features if self.dense.size else 0
        return self.dense[: used + 1, :used]

    def score(self, example: Example) -> tuple[float, Keys, Floats]:
        """Score without learning; with the contribution of each feature to the score, by key."""
        keys, values = self._canonical(example)
        weights = np.empty(keys.size)
        score = self._algorithm.score(self.memory.rows, self.dense, self.tally, keys, values, self._settings, weights)
        return score, keys, weights * values

    def score_alone(self, example: Example) -> float:
        """The same score, without the contributions."""
        keys, values = self._canonical(example)
        weights = np.empty(keys.size)
        return self._algorithm.score(self.memory.rows, self.dense, self.tally, keys, values, self._settings, weights)

    def score_all(self, examples: Examples) -> Floats:
        """The same scores for several examples, in one call; BadExample if any of them is refused."""
        return self.scores(*self.canonical(examples.starts, examples.keys, examples.values))

    def scores(self, starts: Ints, keys: Keys, values: Floats) -> Floats:
        """Score a canonical batch without learning."""
        scores = np.empty(starts.size - 1)
        self._algorithm.scores(self.memory.rows, self.dense, self.tally, keys, values, starts, self._settings, scores)
        return scores

    def learn(self, example: Example, label: int) -> float:
        """Learn one example; return its score from before."""
        keys, values = self._canonical(example)
        while True:
            score = self._algorithm.learn(
                self.memory.rows, self.dense, self.tally, keys, values, float(label), self._settings
            )
            if self.tally[place.OUTCOME] != place.TABLE_FULL:
                return score
            self._grow()

    def canonical(self, starts: Ints, keys: Keys, values: Floats) -> tuple[Ints, Keys, Floats]:
        """Bring a batch as read into the form that `stream` and `scores` take, under this configuration."""
        self._refuse_beyond_full(values)
        return canonical_batch(starts, keys, values, self._l2, self._bias)

    def _canonical(self, example: Example) -> tuple[Keys, Floats]:
        if self._limited:
            self._refuse_beyond_full(example.values)
        return canonical(example.keys, example.values, self._l2, self._bias)

    def _refuse_beyond_full(self, values: Floats) -> None:
        if refusal := self.refusal(values):
            raise BadExample(refusal)

    def refusal(self, values: Floats) -> str | None:
        """Keep a full matrix from values with whose squares its rounding cannot cope: say why, or None."""
        if not self._limited:
            return None
        size = float(np.abs(values).max(initial=0.0))
        if size <= FULL_VALUE:
            return None
        return f"a value is {size:g} in size: without normalize = l2 a full matrix takes up to {FULL_VALUE:g}"

    def stream(self, starts: Ints, keys: Keys, values: Floats, labels: Floats) -> Floats:
        """Test, then train, over a canonical batch; return the scores."""
        scores = np.empty(labels.size)
        done = 0
        while True:
            done = self._algorithm.stream(
                self.memory.rows, self.dense, self.tally, keys, values, starts, labels, self._settings, scores, done
            )
            if done == labels.size:
                return scores
            self._grow()

    @property
    def updated(self) -> bool:
        """Whether the last example moved a weight."""
        return bool(self.tally[place.OUTCOME] == place.UPDATED)

    def survey(self) -> Survey:
        """Look at every feature."""
        weights, sizes, evidence = np.empty((3, self.features))
        self._algorithm.survey(self.memory.rows, self.dense, self.tally, self._settings, weights, sizes, evidence)
        keys = np.concatenate([np.empty(0, np.uint64), *(rows[:, 0].view(np.uint64) for rows in self.rows())])
        return Survey(keys, weights, evidence)

    def remove(self, weight_at_most: float, evidence_at_most: float) -> int:
        """Forget features whose weight and evidence are both negligible; return how many."""
        found = self.survey()
        gone = (np.abs(found.weights) <= weight_at_most) & (found.evidence <= evidence_at_most)
        if self.dense.size:
            self._renumber(~gone)
        self._lay_out((~gone).astype(np.uint8))
        return int(gone.sum())

    def rows(self) -> Iterator[Floats]:
        """The rows in use in key order, the largest first, some at a time."""
        at, left = 0, self.features
        while left:
            packed = np.empty((min(left, ROWS_AT_ONCE), self.width))
            at = copy_rows(self.memory.rows, self.width, at, packed.reshape(-1))
            left -= len(packed)
            yield packed

    def restore(self, tally: Floats, rows: Floats, dense: Floats) -> None:
        """Take over what another model of the same configuration held; ValueError if it cannot have held that."""
        _check(tally, rows, dense, numbered=self._algorithm.state == NUMBERED)
        bits = int(tally[place.BITS])
        self.tally, self.dense = tally, dense
        self.memory = Memory(table_size(bits, self.width))
        first = self.memory.rows.size - self.width - rows.size
        self.memory.rows[first : first + rows.size] = rows.reshape(-1)
        spread(self.memory.rows, self.width, first, bits)

    def _grow(self) -> None:
        """Make room for what the next example may bring: double the matrix if that was full, else the table."""
        if self._algorithm.state == NUMBERED and self.features > len(self.dense.T):
            self._grow_dense()
            return
        bits = int(self.tally[place.BITS]) + 1
        self.memory.resize(table_size(bits, self.width))
        self.tally[place.BITS] = bits
        self._spread_again(ALL)

    def _grow_dense(self) -> None:
        old = len(self.dense.T)
        size = max(LEAST_DENSE, 2 * old)
        dense = np.vstack([np.zeros(size), np.eye(size)])
        dense[: len(self.dense), :old] = self.dense
        self.dense = dense

    def _lay_out(self, keep: Bytes) -> None:
        """Drop the rows that are not kept, and halve the table while they still fit well."""
        self._spread_again(keep)
        self.tally[place.FEATURES] = keep.sum()
        bits = int(self.tally[place.BITS])
        while bits > LEAST_BITS and self.features <= LOAD / 2 * (1 << (bits - 1)):
            bits -= 1
        if not fits(self.memory.rows, self.width, bits, (1 << bits) + spare(bits)):
            return
        self.tally[place.BITS] = bits
        self._spread_again(ALL)
        self.memory.resize(table_size(bits, self.width))

    def _spread_again(self, keep: Bytes) -> None:
        first = pack(self.memory.rows, self.width, keep)
        spread(self.memory.rows, self.width, first, int(self.tally[place.BITS]))

    def _renumber(self, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Take the features that go out of the matrix; the others keep their order."""
        numbers = np.concatenate([np.empty(0), *(rows[:, 1] for rows in self.rows())]).astype(np.int64)
        staying = np.sort(numbers[keep])
        size = len(self.dense.T)
        dense = np.vstack([np.zeros(size), np.eye(size)])
        dense[0, : staying.size] = self.dense[0, staying]
        dense[1 : 1 + staying.size, : staying.size] = self.dense[np.ix_(1 + staying, staying)]
        self.dense = dense
        table = self.memory.rows.reshape(-1, self.width)
        used = table[:, 0].view(np.uint64) != 0
        table[used, 1] = np.searchsorted(staying, table[used, 1])


def _check(tally: Floats, rows: Floats, dense: Floats, *, numbered: bool) -> None:
    """Refuse what would lead a kernel out of its arrays, or take memory for nothing: kernels do not check."""
    if tally.size != place.SIZE or not all(np.isfinite(array).all() for array in (tally, rows[:, 1:], dense)):
        raise ValueError("its numbers are not finite, or not as many as they should be")
    counted = tally[[place.STEP, place.POSITIVES, place.NEGATIVES, place.DROPPED]]
    if not ((counted >= 0.0) & (counted <= MOST_COUNTED)).all() or not 0.0 < tally[place.SCALE] <= 1.0:
        raise ValueError("it has counted what cannot be counted")
    bits = float(tally[place.BITS])
    if bits not in range(LEAST_BITS, MOST_BITS + 1) or tally[place.FEATURES] != len(rows):
        raise ValueError("its table has an impossible size")
    if bits > SMALL_BITS and 1 << int(bits) > SPARSEST * len(rows):
        raise ValueError("its table is far larger than its features need")
    order = ~np.ascontiguousarray(rows[:, 0]).view(np.uint64)
    count = np.arange(len(rows))
    places = np.maximum.accumulate((order >> np.uint64(64 - int(bits))).astype(np.int64) - count) + count
    if (order[:-1] >= order[1:]).any() or (~order == 0).any() or (places >= (1 << int(bits)) + spare(int(bits))).any():
        raise ValueError("its rows are not in order")
    belongs = len(rows) <= len(dense.T) and (np.sort(rows[:, 1]) == count).all() if numbered else not dense.size
    if not belongs:
        raise ValueError("its matrix does not fit its rows")
