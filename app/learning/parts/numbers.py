"""Numbers that callers give, encoded so that their scale does not matter, and how people read them.

`kernels/examples/numbers.py` says what a number becomes. The statistics of each numeric feature are part of the state:
a table with the rows key, count, mean and sum of squared distances from the mean.
"""

import math
from functools import cache

import numpy as np

from app.learning.example import Example
from app.learning.parts.names import Names
from app.learning.parts.table import check_rows
from app.learning.prequential import MOST_COUNTED
from kernels.arrays import Floats, Ints, Keys
from kernels.examples import numbers as kernel
from kernels.learner import totals
from kernels.table.layout import copy_rows, pack, spread
from kernels.table.memory import Memory
from kernels.table.rows import LEAST_BITS, table_size

WIDTH = int(kernel.WIDTH)
NONE_GIVEN = np.empty(0, np.int64)  # of a batch in which no feature is a caller's number
NO_BIAS = np.uint64(0)
UNSCALED = False
KEEP_ALL = np.empty(0, np.uint8)
PLAIN_FROM, PLAIN_TO = 1e-4, 1e15  # numbers outside are written with an exponent
DIGITS, FEW_DIGITS = 6, 3  # significant digits of a value, and of a border below 1


class Numbers:
    """The statistics of numeric features, and the encoding that uses them."""

    def __init__(self) -> None:
        self.memory = Memory(table_size(LEAST_BITS, WIDTH))
        self.tally = totals.new_totals(LEAST_BITS)

    def encode_all(self, starts: Ints, keys: Keys, values: Floats, given: Ints) -> tuple[Ints, Keys, Floats]:
        """Encode a batch in CSR form; `given` has a number for each example."""
        return kernel.encode_all(starts, keys, values, given, self.memory.rows, self.tally)

    def encode_and_count(
        self, starts: Ints, keys: Keys, values: Floats, given: Ints, settings: Floats
    ) -> tuple[Ints, Keys, Floats]:
        """Encode a batch that is learnt: each example by the statistics of the examples before it."""
        room = keys.size + (kernel.PER_NUMBER - 1) * int(given.sum())
        out = np.zeros(starts.size, np.int64), np.empty(room, np.uint64), np.empty(room)
        done = 0
        while True:
            done = kernel.encode_and_count(
                starts, keys, values, given, self.memory.rows, self.tally, settings, done, *out
            )
            if done == given.size:
                return out[0], out[1][: out[0][-1]], out[2][: out[0][-1]]
            self.grow()

    def sum_by_number(self, example: Example, keys: Keys, contributions: Floats) -> tuple[Keys, Floats]:
        """Add up what the bins of each number contribute, under the key of its name."""
        owners: dict[int, int] = {}
        for k in range(example.given):
            one = slice(k, k + 1)
            bins, _ = kernel.encode_one(
                example.keys[one],
                example.values[one],
                1,
                self.memory.rows,
                self.tally,
                UNSCALED,
                NO_BIAS,
            )
            owners |= dict.fromkeys(bins.tolist(), int(example.keys[k]))
        sums: dict[int, float] = {}
        for key, contribution in zip(keys.tolist(), contributions.tolist(), strict=True):
            owner = owners.get(key, key)
            sums[owner] = sums.get(owner, 0.0) + contribution
        return np.fromiter(sums, np.uint64, len(sums)), np.fromiter(sums.values(), np.float64, len(sums))

    @property
    def bits(self) -> int:
        """The table has 2^bits home slots."""
        return int(self.tally[totals.BITS])

    def rows(self) -> Floats:
        """Return a copy of the rows in use, in descending order of keys."""
        packed = np.empty((int(self.tally[totals.FEATURES]), WIDTH))
        copy_rows(self.memory.rows, WIDTH, 0, packed.reshape(-1))
        return packed

    def restore(self, bits: int, rows: Floats) -> None:
        """Restore the rows of a snapshot; ValueError if they are inconsistent."""
        check_rows(bits, rows)
        counts, squares = rows[:, 1], rows[:, 3]
        if not np.isfinite(rows[:, 1:]).all() or not ((counts >= 0.0) & (counts <= MOST_COUNTED)).all():
            raise ValueError("its statistics of numbers are out of range")
        if (squares < 0.0).any():
            raise ValueError("a variance of its numbers is negative")
        self.memory = Memory(table_size(bits, WIDTH))
        self.tally[totals.BITS], self.tally[totals.FEATURES] = bits, len(rows)
        first = self.memory.rows.size - WIDTH - rows.size
        self.memory.rows[first : first + rows.size] = rows.reshape(-1)
        spread(self.memory.rows, WIDTH, first, bits)

    def grow(self) -> None:
        """Double the table."""
        bits = self.bits + 1
        self.memory.resize(table_size(bits, WIDTH))
        self.tally[totals.BITS] = bits
        spread(self.memory.rows, WIDTH, pack(self.memory.rows, WIDTH, KEEP_ALL), bits)


def describe(name: str, value: float) -> str:
    """Return a number as explanations show it, `amount 1,500 (1,024-2,048)`; 1 is the name alone, as for a boolean."""
    if value == 1.0:
        return name
    if value == 0.0:
        return f"{name} 0"
    exponent = math.floor(min(max(_octave(abs(value)), kernel.LOWEST - 1.0), kernel.HIGHEST))
    return f"{name} {_number(value)} ({_range(exponent, exponent + 1.0, negative=value < 0.0)})"


def names_to_show(example: Example, *, encoded: bool) -> dict[int, str]:
    """Return the names of features by key; the name of an encoded number has the number and its range."""
    names = dict(zip(example.keys.tolist(), example.names, strict=True))
    if encoded:
        given = slice(example.given)
        keys, values = example.keys[given].tolist(), example.values[given].tolist()
        names |= {key: describe(*each) for key, *each in zip(keys, example.names[given], values, strict=True)}
    return names


def name_of_weight(names: Names, key: int) -> str:
    """Return the name of a feature or of a bin of a number, or the key in hexadecimal if it has none."""
    if key in names:
        return names.name_of(key)
    bins = _bins()
    candidates = np.empty(bins.size, np.uint64)
    kernel.names_of_bin(np.uint64(key), bins, candidates)
    found = names.known(candidates)
    if not found.size:
        return names.name_of(key)
    return _bin_name(names.name_of(int(candidates[found[0]])), int(bins[found[0]]))


@cache
def _bins() -> Keys:
    """Return the numbers of all bins that a feature can have."""
    octaves, deviations = int(kernel.HIGHEST - kernel.LOWEST), int(2 * kernel.FARTHEST)
    highest = {
        (kernel.ZERO, 0): 0,
        (kernel.OCTAVE, 0): octaves,
        (kernel.OCTAVE, 1): octaves,
        (kernel.QUARTER, 0): int(kernel.QUARTERS) * octaves,
        (kernel.QUARTER, 1): int(kernel.QUARTERS) * octaves,
        (kernel.DEVIATION, 0): deviations,
    }
    numbers = [
        (2 * kind + sign) * kernel.PLACES + place for (kind, sign), last in highest.items() for place in range(last + 1)
    ]
    return np.array(numbers, np.uint64)


def _bin_name(name: str, number: int) -> str:
    """Return the values that belong to a bin more than to its neighbours."""
    (kind, sign), place = divmod(number // kernel.PLACES, 2), number % kernel.PLACES
    if kind == kernel.ZERO:
        return f"{name} 0"
    if kind == kernel.DEVIATION:
        return f"{name} {_deviation(place - int(kernel.FARTHEST))}"
    width = 1.0 if kind == kernel.OCTAVE else 1.0 / kernel.QUARTERS
    middle = kernel.LOWEST + width * place
    return f"{name} {_range(middle - width / 2.0, middle + width / 2.0, negative=sign == 1)}"


def _deviation(count: int) -> str:
    if not count:
        return "at its mean"
    return f"{abs(count)} deviation{'s' if abs(count) > 1 else ''} {'above' if count > 0 else 'below'} its mean"


def _octave(size: float) -> float:
    """Return the exponent of 2, plus the fraction of the mantissa."""
    mantissa, exponent = math.frexp(size)
    return exponent - 1 + (2.0 * mantissa - 1.0)


def _range(low: float, high: float, *, negative: bool) -> str:
    """Return the range between two octaves; the outermost ones have one end."""
    ends = [_border(low), _border(high)]
    if low < kernel.LOWEST:
        return f"-{ends[1]} to 0" if negative else f"0-{ends[1]}"
    if high > kernel.HIGHEST:
        return f"-{ends[0]} and less" if negative else f"{ends[0]} and more"
    return f"-{ends[1]} to -{ends[0]}" if negative else "-".join(ends)


def _border(octave: float) -> str:
    whole = math.floor(octave)
    border = math.ldexp(1.0 + octave - whole, whole)
    return _number(border, DIGITS if border >= 1.0 else FEW_DIGITS)


def _number(value: float, digits: int = DIGITS) -> str:
    """Return a number with so many significant digits, or all digits of a whole part that has more."""
    size = abs(value)
    if not PLAIN_FROM <= size < PLAIN_TO:
        return f"{value:.{FEW_DIGITS}g}"
    decimals = max(digits - 1 - math.floor(math.log10(size)), 0)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text
