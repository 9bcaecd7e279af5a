"""Numbers as features whose scale does not matter: shares of bins.

A value other than 0 and 1 becomes its feature, with the value cut to [-1, 1], and shares of at most six bins:

- two neighbouring octaves, 2^k and 2^(k+1), and two neighbouring quarters of an octave, with the sign of the value.
  Between two bins the shares move linearly with the mantissa, so a border of a bin is no step;
- two neighbouring deviations: (value - mean) / standard deviation of the values in the labelled examples so far
  (Welford 1962). Only these see a narrow range on a large offset, such as 293 +- 4.

1 remains the plain feature, as booleans and texts have it. 0 is a bin of its own, but only of a feature that has had
another number before: the many zeros of a dense one-hot table say nothing.

Exponent and mantissa are read from the bits; division and square root are exact by IEEE 754. So every machine computes
the same bits. The key of a bin is an invertible mix of the key of its name and the number of the bin, so that
`names_of_bin` finds the name of a weight.
"""

import math

import numpy as np

from kernels.arrays import Floats, Ints, Keys
from kernels.compiler import inlined, inlined_no_refcount, kernel
from kernels.examples.canonical import canonical_into
from kernels.learner.steps import longest
from kernels.learner.totals import BITS, OUTCOME, UPDATED
from kernels.table.rows import FIRST, SECOND, START, THIRD, enter, find

PER_NUMBER = 7  # features, at most
LOWEST, HIGHEST = -32.0, 64.0  # octaves; a value beyond them is in the outermost bin
QUARTERS = 4.0  # fine bins in an octave
FARTHEST = 8.0  # standard deviations; a value beyond them is in the outermost bin
LEAST_COUNT = 2.0  # values before there is a deviation
FEW = 4.0  # an example with m numbers scales their shares by FEW / sqrt(m), at most 1,
LEAST_SHARE = 0.5  # and values below 1 by their size, but to no less than LEAST_SHARE / sqrt(m)
FRESH = (0.0, 0.0, 0.0)  # the statistics of a feature: count, mean, and the sum of squared distances from the mean
WIDTH = np.uint64(len(FRESH) + 1)

# The number of a bin is (2 kind + sign) PLACES + place.
ZERO, OCTAVE, QUARTER, DEVIATION = range(4)
PLACES = 512

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# splitmix64 (Steele, Lea, Flood 2014), and the inverses of its factors modulo 2^64.
FACTOR, OTHER_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
INVERSE, OTHER_INVERSE = np.uint64(0x96DE1B173F119089), np.uint64(0x319642B2D24D8EC3)
S27, S30, S31, S54, S60, S62 = (np.uint64(shift) for shift in (27, 30, 31, 54, 60, 62))
NO_KEY, INSTEAD = np.uint64(0), np.uint64(1)  # 0 means empty in a table

MANTISSA_BITS, EXPONENT_MASK = np.uint64(52), np.uint64(0x7FF)
MANTISSA_MASK, MANTISSA_UNIT = np.uint64((1 << 52) - 1), 2.0**-52
EXPONENT_OF_1 = 1023.0


@kernel
def encode_one(
    keys: Keys,
    values: Floats,
    given: int,
    rows: Floats,
    totals: Floats,
    l2: bool,  # noqa: FBT001
    bias: np.uint64,
) -> tuple[Keys, Floats]:
    """Return the canonical form of an example with its first `given` features encoded, by the statistics in `rows`."""
    return _canonical(keys, values, given, rows, totals, l2, bias)


@kernel
def encode_and_count_one(
    keys: Keys,
    values: Floats,
    given: int,
    rows: Floats,
    totals: Floats,
    settings: Floats,
    l2: bool,  # noqa: FBT001
    bias: np.uint64,
) -> tuple[Keys, Floats]:
    """Do the same, then count the numbers. OUTCOME is TABLE_FULL if the table must grow first."""
    result = _canonical(keys, values, given, rows, totals, l2, bias)
    totals[OUTCOME] = UPDATED
    numbers, slots, states = np.empty(given, np.uint64), np.empty(given, np.uint64), np.empty((len(FRESH), given))
    _count_all(keys, values, START, given, rows, totals, settings, numbers, slots, states)
    return result


@kernel
def encode_all(
    starts: Ints, keys: Keys, values: Floats, given: Ints, rows: Floats, totals: Floats
) -> tuple[Ints, Keys, Floats]:
    """Encode a batch in CSR form, which is not canonical then; `given` has a number for each example."""
    room = keys.size + (PER_NUMBER - 1) * given.sum()
    out_starts, out_keys, out_values = np.zeros(starts.size, np.int64), np.empty(room, np.uint64), np.empty(room)
    for i in range(given.size):
        out_starts[i + 1] = _encode(
            keys, values, starts[i], starts[i + 1], given[i], rows, totals, out_keys, out_values, out_starts[i]
        )
    return out_starts, out_keys[: out_starts[-1]], out_values[: out_starts[-1]]


@kernel
def encode_and_count(
    starts: Ints,
    keys: Keys,
    values: Floats,
    given: Ints,
    rows: Floats,
    totals: Floats,
    settings: Floats,
    first: int,
    out_starts: Ints,
    out_keys: Keys,
    out_values: Floats,
) -> int:
    """Encode, then count the numbers, example by example from `first` on; return where the table must grow first."""
    most = longest(starts)
    numbers, slots, states = np.empty(most, np.uint64), np.empty(most, np.uint64), np.empty((len(FRESH), most))
    for i in range(first, given.size):
        start, stop = starts[i], starts[i + 1]
        out_starts[i + 1] = _encode(
            keys, values, start, stop, given[i], rows, totals, out_keys, out_values, out_starts[i]
        )
        if not _count_all(keys, values, start, given[i], rows, totals, settings, numbers, slots, states):
            return i
    return given.size


@kernel
def names_of_bin(key: np.uint64, bins: Keys, names: Keys) -> None:
    """For each number of a bin, find the key of the name that has this key for it: the inverse of `_bin_key`."""
    x = (key ^ (key >> S31) ^ (key >> S62)) * OTHER_INVERSE
    x = (x ^ (x >> S27) ^ (x >> S54)) * INVERSE
    x = x ^ (x >> S30) ^ (x >> S60)
    for k in range(bins.size):
        names[k] = x ^ (bins[k] * GOLDEN)


@inlined
def _canonical(
    keys: Keys,
    values: Floats,
    given: int,
    rows: Floats,
    totals: Floats,
    l2: bool,  # noqa: FBT001
    bias: np.uint64,
) -> tuple[Keys, Floats]:
    room = keys.size + (PER_NUMBER - 1) * given
    found, shares = np.empty(room, np.uint64), np.empty(room)
    count = _encode(keys, values, START, keys.size, given, rows, totals, found, shares, START)
    out_keys, out_values = np.empty(count + 1, np.uint64), np.empty(count + 1)
    count = canonical_into(found[:count], shares[:count], l2, bias, out_keys, out_values)
    return out_keys[:count], out_values[:count]


@inlined_no_refcount
def _is_number(value: float) -> bool:
    return value != 0.0 and value != 1.0  # noqa: PLR1714 - a kernel without reference counts has no sets


@inlined_no_refcount
def _encode(
    keys: Keys,
    values: Floats,
    start: int,
    stop: int,
    given: int,
    rows: Floats,
    totals: Floats,
    out_keys: Keys,
    out_values: Floats,
    at: int,
) -> int:
    """Write the features of one example from `at` on; return their end."""
    numbers = 0
    for k in range(start, start + given):
        numbers += int(_is_number(values[k]))
    root = math.sqrt(float(max(numbers, 1)))
    for k in range(start, stop):
        key, value = keys[k], values[k]
        if k >= start + given or value == 1.0:
            out_keys[at], out_values[at] = key, value
            at += 1
            continue
        row = _find_row(rows, totals, key)
        size = min(1.0, FEW / root)
        if value == 0.0:
            if rows[row + FIRST] > 0.0:
                at = _share(key, ZERO, 0, 0.0, size, out_keys, out_values, at)
            continue
        out_keys[at], out_values[at] = key, min(max(value, -1.0), 1.0)
        size = max(size * min(1.0, abs(value)), LEAST_SHARE / root)
        octave, sign = _octave(value), int(value < 0.0)
        at = _share(key, OCTAVE, sign, octave, size, out_keys, out_values, at + 1)
        at = _share(key, QUARTER, sign, QUARTERS * octave, size, out_keys, out_values, at)
        count, mean, squares = rows[row + FIRST], rows[row + SECOND], rows[row + THIRD]
        variance = squares / max(count, 1.0)  # it may underflow to 0 though the squares do not
        if count >= LEAST_COUNT and variance > 0.0:
            deviation = (value - mean) / math.sqrt(variance)
            place = min(max(deviation, -FARTHEST), FARTHEST) + FARTHEST
            at = _share(key, DEVIATION, 0, place, size, out_keys, out_values, at)
    return at


@inlined_no_refcount
def _octave(value: float) -> float:
    """Return the exponent of 2 in the value, plus the fraction of its mantissa, counted from LOWEST."""
    bits = np.float64(value).view(np.uint64)
    exponent = float((bits >> MANTISSA_BITS) & EXPONENT_MASK) - EXPONENT_OF_1
    fraction = float(bits & MANTISSA_MASK) * MANTISSA_UNIT
    return min(max(exponent - LOWEST + fraction, 0.0), HIGHEST - LOWEST)


@inlined_no_refcount
def _share(
    key: np.uint64, kind: int, sign: int, place: float, size: float, out_keys: Keys, out_values: Floats, at: int
) -> int:
    """Divide a size between the two bins around a place; return the end of the features."""
    whole = math.floor(place)
    upper = place - whole
    number = np.uint64((2 * kind + sign) * PLACES + int(whole))
    out_keys[at], out_values[at] = _bin_key(key, number), size * (1.0 - upper)
    if upper == 0.0:
        return at + 1
    out_keys[at + 1], out_values[at + 1] = _bin_key(key, number + np.uint64(1)), size * upper
    return at + 2


@inlined_no_refcount
def _bin_key(key: np.uint64, number: np.uint64) -> np.uint64:
    """Return the key of a bin of a feature."""
    x = key ^ (number * GOLDEN)
    x = (x ^ (x >> S30)) * FACTOR
    x = (x ^ (x >> S27)) * OTHER_FACTOR
    x ^= x >> S31
    return x if x != NO_KEY else INSTEAD


@inlined_no_refcount
def _find_row(rows: Floats, totals: Floats, key: np.uint64) -> np.uint64:
    """Return where the statistics of a feature are; the sink, whose count is 0, if there are none."""
    bits = rows.view(np.uint64)
    at = find(bits, WIDTH, np.uint64(64) - np.uint64(totals[BITS]), key)
    return at if bits[at] == key else np.uint64(rows.size) - WIDTH


@inlined_no_refcount
def _count_all(
    keys: Keys,
    values: Floats,
    start: int,
    given: int,
    rows: Floats,
    totals: Floats,
    settings: Floats,
    numbers: Keys,
    slots: Keys,
    states: Floats,
) -> bool:
    """Count the numbers of an example; False, and nothing is counted, if the table must grow first."""
    count = 0
    for k in range(start, start + given):
        if _is_number(values[k]):
            numbers[count] = keys[k]
            count += 1
    if not enter(rows, totals, numbers, START, count, slots, states, FRESH, settings):
        return False
    count = 0
    for k in range(start, start + given):
        if _is_number(values[k]):
            _count(rows, slots[count], values[k])
            count += 1
    return True


@inlined_no_refcount
def _count(rows: Floats, row: np.uint64, value: float) -> None:
    """Count a value, unless the table had no room for its feature."""
    if row == np.uint64(rows.size) - WIDTH:
        return
    rows[row + FIRST] += 1.0
    distance = value - rows[row + SECOND]
    rows[row + SECOND] += distance / rows[row + FIRST]
    rows[row + THIRD] += distance * (value - rows[row + SECOND])
