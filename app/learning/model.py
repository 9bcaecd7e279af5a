"""A model: the feature table, the scalars and matrix beside it, and the kernels that score and learn."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.learning.config import NUMBERED, Config
from app.learning.errors import BadExample
from app.learning.example import Example, Examples
from app.learning.parts.names import BIAS_KEY
from app.learning.parts.numbers import NONE_GIVEN, Numbers
from app.learning.parts.table import check_model
from kernels.arrays import Bytes, Floats, Ints, Keys
from kernels.examples.canonical import canonical, canonical_batch
from kernels.examples.numbers import encode_and_count_one, encode_one
from kernels.learner import totals
from kernels.learner.maths import LARGEST_ERROR
from kernels.table.layout import copy_rows, fits, pack, spread
from kernels.table.memory import Memory
from kernels.table.rows import LEAST_BITS, LOAD, spare, table_size

NO_BIAS = 0
KEEP_ALL = np.empty(0, np.uint8)
ROWS_PER_COPY = 65_536
LEAST_DENSE = 16
FULL_VALUE = 1e6  # largest value without normalisation in a full matrix


@dataclass(frozen=True, slots=True)
class Survey:
    """Key, weight and evidence (how much the model has seen of it) of every feature, in the order of the table."""

    keys: Keys
    weights: Floats
    evidence: Floats


class Model:
    """The learnt state under one configuration, and the operations on it."""

    def __init__(self, config: Config) -> None:
        self._algorithm = config.algorithm
        self.width = len(self._algorithm.fresh) + 1
        self.memory = Memory(table_size(LEAST_BITS, self.width))
        self.tally = totals.new_totals(LEAST_BITS)
        self.dense = np.zeros((0, 0))
        self.numbers: Numbers | None = None
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Continue under another configuration for which the learnt state has the same meaning."""
        if "touched" in self._algorithm.state and self.features:
            self._apply_gravity()
        self.config = config
        self._algorithm = config.algorithm
        self._settings = config.settings()
        self._bias = np.uint64(BIAS_KEY if config.bias else NO_BIAS)
        self._l2 = config.l2
        self._limited = self._algorithm.state == NUMBERED and not config.l2
        self.numbers = (self.numbers or Numbers()) if config.encodes_numbers else None
        self.threshold = config.threshold or 0.0  # a learnt one is set by the state

    def _apply_gravity(self) -> None:
        """Apply the pending shrinkage to all rows, while the settings that caused it are still in force."""
        table = self.memory.rows.reshape(-1, self.width)
        used = table[:, 0].view(np.uint64) != 0
        table[used, 1] = self.survey().weights
        table[used, -1] = self.tally[totals.GRAVITY]

    def can_become(self, config: Config) -> bool:
        """Whether the learnt state keeps its meaning under another configuration."""
        return self._algorithm.state == config.algorithm.state

    @property
    def features(self) -> int:
        """Features with a row in the table."""
        return int(self.tally[totals.FEATURES])

    @property
    def dropped(self) -> int:
        """How many times a new feature was dropped because the table was at its limit."""
        return int(self.tally[totals.DROPPED])

    @property
    def bytes(self) -> int:
        """Memory of the table, the matrix and the statistics of numbers."""
        statistics = 0 if self.numbers is None else self.numbers.memory.rows.nbytes
        return int(self.memory.rows.nbytes + self.dense.nbytes) + statistics

    @property
    def scalars(self) -> Floats:
        """The learnt scalars."""
        return self.tally[: totals.BITS]

    @property
    def dense_in_use(self) -> Floats:
        """The part of the matrix in use: theta, then the rows of A^-1."""
        used = self.features if self.dense.size else 0
        return self.dense[: used + 1, :used]

    def score(self, example: Example) -> tuple[float, Keys, Floats]:
        """Return the score, the keys, and the contribution of each key to the score."""
        keys, values = self._canonical(example)
        weights = np.empty(keys.size)
        score = self._algorithm.score(self.memory.rows, self.dense, self.tally, keys, values, self._settings, weights)
        return score, keys, weights * values

    def explain(self, example: Example) -> tuple[float, Keys, Floats]:
        """Return the same, but what the bins of a number contribute is one sum, under the key of its name."""
        score, keys, contributions = self.score(example)
        if self.numbers is not None and example.given:
            keys, contributions = self.numbers.sum_by_number(example, keys, contributions)
        return score, keys, contributions

    def score_alone(self, example: Example) -> float:
        """Return the score without the contributions."""
        keys, values = self._canonical(example)
        weights = np.empty(keys.size)
        return self._algorithm.score(self.memory.rows, self.dense, self.tally, keys, values, self._settings, weights)

    def score_all(self, examples: Examples) -> Floats:
        """Score several examples in one kernel call; BadExample if any of them is refused."""
        given = np.diff(examples.starts) if self.numbers is not None else NONE_GIVEN
        return self.scores(*self.canonical(examples.starts, examples.keys, examples.values, given))

    def scores(self, starts: Ints, keys: Keys, values: Floats) -> Floats:
        """Score a canonical batch without learning."""
        scores = np.empty(starts.size - 1)
        self._algorithm.scores(self.memory.rows, self.dense, self.tally, keys, values, starts, self._settings, scores)
        return scores

    def learn(self, example: Example, label: int) -> float:
        """Learn one example; return its score before learning."""
        keys, values = self._canonical(example, learning=True)
        while True:
            score = self._algorithm.learn(
                self.memory.rows, self.dense, self.tally, keys, values, float(label), self._settings
            )
            if self.tally[totals.OUTCOME] != totals.TABLE_FULL:
                return score
            self._grow()

    def canonical(
        self, starts: Ints, keys: Keys, values: Floats, given: Ints = NONE_GIVEN, *, learning: bool = False
    ) -> tuple[Ints, Keys, Floats]:
        """Normalise a batch as read into the canonical form that `stream` and `scores` take.

        Example i begins with `given[i]` features that its caller gave; their numbers are encoded if the settings say
        so, and counted if the batch is learnt. An empty `given` stands for zeros.
        """
        self._check_size(values)
        if self.numbers is not None and given.size:
            if learning:
                starts, keys, values = self.numbers.encode_and_count(starts, keys, values, given, self._settings)
            else:
                starts, keys, values = self.numbers.encode_all(starts, keys, values, given)
        return canonical_batch(starts, keys, values, self._l2, self._bias)

    def _canonical(self, example: Example, *, learning: bool = False) -> tuple[Keys, Floats]:
        if self._limited:
            self._check_size(example.values)
        numbers, keys, values, given = self.numbers, example.keys, example.values, example.given
        if numbers is None or not given:
            return canonical(keys, values, self._l2, self._bias)
        if not learning:
            return encode_one(keys, values, given, numbers.memory.rows, numbers.tally, self._l2, self._bias)
        while True:
            found = encode_and_count_one(
                keys, values, given, numbers.memory.rows, numbers.tally, self._settings, self._l2, self._bias
            )
            if numbers.tally[totals.OUTCOME] != totals.TABLE_FULL:
                return found
            numbers.grow()

    def _check_size(self, values: Floats) -> None:
        if refusal := self.refusal(values):
            raise BadExample(refusal)

    def refusal(self, values: Floats) -> str | None:
        """Return why values are refused, or None: a full matrix loses precision with the squares of large values."""
        if not self._limited:
            return None
        size = float(np.abs(values).max(initial=0.0))
        if size <= FULL_VALUE:
            return None
        return (
            f"a value has the magnitude {size:g}: a full matrix without normalize = l2 accepts at most {FULL_VALUE:g}"
        )

    def stream(self, starts: Ints, keys: Keys, values: Floats, labels: Floats) -> Floats:
        """Test, then train, on a canonical batch; return the scores."""
        scores = np.empty(labels.size)
        done = 0
        while True:
            done = self._algorithm.stream(
                self.memory.rows, self.dense, self.tally, keys, values, starts, labels, self._settings, scores, done
            )
            if done == labels.size:
                return scores
            self._grow()

    def loss(self, margin: float) -> float:
        """Return the loss that the algorithm minimises, without costs."""
        if self._algorithm.loss == "logistic":
            return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
        hinge = max(0.0, 1.0 - margin)
        if self._algorithm.loss == "squared_hinge":
            return hinge * hinge if hinge <= LARGEST_ERROR else 2.0 * LARGEST_ERROR * hinge - LARGEST_ERROR**2
        return hinge

    @property
    def updated(self) -> bool:
        """Whether the last example moved a weight."""
        return bool(self.tally[totals.OUTCOME] == totals.UPDATED)

    def survey(self) -> Survey:
        """Read key, weight and evidence of every feature."""
        weights, sizes, evidence = np.empty((3, self.features))
        self._algorithm.survey(self.memory.rows, self.dense, self.tally, self._settings, weights, sizes, evidence)
        keys = np.concatenate([np.empty(0, np.uint64), *(rows[:, 0].view(np.uint64) for rows in self.rows())])
        return Survey(keys, weights, evidence)

    def remove(self, weight_at_most: float, evidence_at_most: float) -> int:
        """Remove features whose weight and evidence are both negligible; return how many."""
        survey = self.survey()
        removed = (np.abs(survey.weights) <= weight_at_most) & (survey.evidence <= evidence_at_most)
        if self.dense.size:
            self._renumber(~removed)
        self._lay_out((~removed).astype(np.uint8))
        return int(removed.sum())

    def rows(self) -> Iterator[Floats]:
        """Yield copies of the rows in use, in descending order of keys, in blocks."""
        at, left = 0, self.features
        while left:
            packed = np.empty((min(left, ROWS_PER_COPY), self.width))
            at = copy_rows(self.memory.rows, self.width, at, packed.reshape(-1))
            left -= len(packed)
            yield packed

    def restore(self, tally: Floats, rows: Floats, dense: Floats) -> None:
        """Restore the arrays of a model with the same configuration; ValueError if they are inconsistent."""
        check_model(tally, rows, dense, numbered=self._algorithm.state == NUMBERED)
        bits = int(tally[totals.BITS])
        self.tally, self.dense = tally, dense
        self.memory = Memory(table_size(bits, self.width))
        first = self.memory.rows.size - self.width - rows.size
        self.memory.rows[first : first + rows.size] = rows.reshape(-1)
        spread(self.memory.rows, self.width, first, bits)

    def _grow(self) -> None:
        """Double the matrix if it is full, else the table."""
        if self._algorithm.state == NUMBERED and self.features > len(self.dense.T):
            self._grow_dense()
            return
        bits = int(self.tally[totals.BITS]) + 1
        self.memory.resize(table_size(bits, self.width))
        self.tally[totals.BITS] = bits
        self._spread_again(KEEP_ALL)

    def _grow_dense(self) -> None:
        old = len(self.dense.T)
        size = max(LEAST_DENSE, 2 * old)
        dense = np.vstack([np.zeros(size), np.eye(size)])
        dense[: len(self.dense), :old] = self.dense
        self.dense = dense

    def _lay_out(self, keep: Bytes) -> None:
        """Drop the rows that are not kept, and halve the table while the others still fit well."""
        self._spread_again(keep)
        self.tally[totals.FEATURES] = keep.sum()
        bits = int(self.tally[totals.BITS])
        while bits > LEAST_BITS and self.features <= LOAD / 2 * (1 << (bits - 1)):
            bits -= 1
        if not fits(self.memory.rows, self.width, bits, (1 << bits) + spare(bits)):
            return
        self.tally[totals.BITS] = bits
        self._spread_again(KEEP_ALL)
        self.memory.resize(table_size(bits, self.width))

    def _spread_again(self, keep: Bytes) -> None:
        first = pack(self.memory.rows, self.width, keep)
        spread(self.memory.rows, self.width, first, int(self.tally[totals.BITS]))

    def _renumber(self, keep: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Remove features from the matrix; the others keep their order."""
        numbers = np.concatenate([np.empty(0), *(rows[:, 1] for rows in self.rows())]).astype(np.int64)
        kept = np.sort(numbers[keep])
        size = len(self.dense.T)
        dense = np.vstack([np.zeros(size), np.eye(size)])
        dense[0, : kept.size] = self.dense[0, kept]
        dense[1 : 1 + kept.size, : kept.size] = self.dense[np.ix_(1 + kept, kept)]
        self.dense = dense
        table = self.memory.rows.reshape(-1, self.width)
        used = table[:, 0].view(np.uint64) != 0
        table[used, 1] = np.searchsorted(kept, table[used, 1])
