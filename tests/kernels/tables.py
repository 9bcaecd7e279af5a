"""Tables and models over chosen keys, and the layout that they must have by definition."""

from collections.abc import Iterable

import numpy as np

from app.learning.config import Value, config_of
from app.learning.example import Example
from app.learning.model import Model
from kernels.arrays import Bytes, Floats, Keys
from kernels.learner import totals as place
from kernels.learner.options import LIMIT
from kernels.learner.options import SIZE as SETTINGS
from kernels.table.layout import copy_rows
from kernels.table.rows import enter, table_size

LARGEST_KEY = (1 << 64) - 1


def array_of(keys: Iterable[int]) -> Keys:
    return np.array(list(keys), np.uint64)


def example(keys: Iterable[int], value: float = 1.0) -> Example:
    chosen = array_of(keys)
    return Example(chosen, np.full(chosen.size, value))


def random_keys(seed: int, count: int) -> list[int]:
    """Different keys, in no order."""
    found: list[int] = np.random.default_rng(seed).integers(1, LARGEST_KEY, count, np.uint64).tolist()
    assert len(set(found)) == count
    return found


def model_of(**settings: Value) -> Model:
    return Model(config_of(settings))


def fsol() -> Model:
    """A model whose rows are easy to predict: theta grows by the value, without a threshold."""
    return model_of(algorithm="fsol", eta=1.0, normalize="none")


def fsol_with(keys: Iterable[int]) -> Model:
    """A model that has learnt one example of each of these features."""
    model = fsol()
    learn_one_by_one(model, keys)
    return model


def learn_one_by_one(model: Model, keys: Iterable[int]) -> None:
    """Learn examples of one feature each, in the order given."""
    chosen = array_of(keys)
    ones = np.ones(chosen.size)
    model.stream(np.arange(chosen.size + 1), chosen, ones, ones)


def bits_of(model: Model) -> int:
    return int(model.tally[place.BITS])


def packed(rows: Floats, width: int) -> Floats:
    """The rows in use, one per line."""
    used = rows.view(np.uint64)[::width] != 0
    found = np.empty((int(used.sum()), width))
    copy_rows(rows, width, 0, found.reshape(-1))
    return found


def keys_of(rows: Floats) -> Keys:
    return np.ascontiguousarray(rows[:, 0]).view(np.uint64)


def content(model: Model) -> dict[int, tuple[float, ...]]:
    rows = packed(model.memory.rows, model.width)
    return {key: tuple(state) for key, state in zip(keys_of(rows).tolist(), rows[:, 1:].tolist(), strict=True)}


def layout_of(found: Floats, bits: int) -> Floats:
    """A table by definition: from the largest key down, each row in its home slot or else the next free one."""
    width = found.shape[1]
    ordered = found[np.argsort(keys_of(found))[::-1]]
    homes = (~keys_of(ordered) >> np.uint64(64 - bits)).astype(np.int64)
    number = np.arange(len(ordered))
    table = np.zeros((table_size(bits, width) // width, width))
    table[np.maximum.accumulate(homes - number) + number] = ordered
    return table.reshape(-1)


def memory_of(rows: Floats, width: int) -> bytes:
    """All bytes but the state in the sink, which is written there and never read."""
    return rows[: 1 - width].tobytes()


def is_laid_out(model: Model) -> bool:
    """Return whether the memory is byte for byte the defined layout."""
    rows = model.memory.rows
    expected = layout_of(packed(rows, model.width), bits_of(model))
    return memory_of(rows, model.width) == memory_of(expected, model.width)


class Table:
    """A table without an algorithm: rows are inserted, nothing is learnt."""

    FRESH = (0.25, -4.0)
    WIDTH = 3

    def __init__(self, bits: int, limit: int = 1 << 31) -> None:
        self.rows = np.zeros(table_size(bits, self.WIDTH))
        self.totals = place.new_totals(bits)
        self.settings = np.zeros(SETTINGS)
        self.settings[LIMIT] = limit

    def enter(self, keys: Iterable[int]) -> tuple[bool, Keys, Floats]:
        """Return whether the keys could be inserted, their slots, and their states."""
        chosen = np.sort(array_of(keys))
        slots, states = np.zeros(chosen.size, np.uint64), np.zeros((2, chosen.size))
        entered = enter(self.rows, self.totals, chosen, 0, chosen.size, slots, states, self.FRESH, self.settings)
        return entered, slots, states

    @property
    def sink(self) -> Bytes:
        return self.rows[-self.WIDTH :].view(np.uint8)
