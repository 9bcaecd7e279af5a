"""The canonical form of an example: keys ascending and unique, no zeros, scaled, with the bias.

So the order in which features are sent does not matter, and every kernel can rely on the form.
"""

import math

import numpy as np

from kernels.arrays import Floats, Ints, Keys
from kernels.compiler import inlined, kernel

LARGEST_VALUE = 1e100  # so that no square overflows
SHORT = 24  # up to this many keys, insertion sort is the fastest
BUCKETS_AT_MOST = 4096


@kernel
def canonical(keys: Keys, values: Floats, l2: bool, bias: np.uint64) -> tuple[Keys, Floats]:  # noqa: FBT001
    """Return one example's canonical keys and values; `bias` is the key of the bias feature, or 0 for none."""
    out_keys, out_values = np.empty(keys.size + 1, np.uint64), np.empty(keys.size + 1)
    count = canonical_into(keys, values, l2, bias, out_keys, out_values)
    return out_keys[:count], out_values[:count]


@kernel
def canonical_batch(
    starts: Ints,
    keys: Keys,
    values: Floats,
    l2: bool,  # noqa: FBT001
    bias: np.uint64,
) -> tuple[Ints, Keys, Floats]:
    """Return the canonical form of a batch of examples in CSR form."""
    examples = starts.size - 1
    out_starts = np.zeros(examples + 1, np.int64)
    out_keys, out_values = np.empty(keys.size + examples, np.uint64), np.empty(keys.size + examples)
    for i in range(examples):
        source, target = slice(starts[i], starts[i + 1]), out_starts[i]
        count = canonical_into(keys[source], values[source], l2, bias, out_keys[target:], out_values[target:])
        out_starts[i + 1] = target + count
    return out_starts, out_keys[: out_starts[-1]], out_values[: out_starts[-1]]


@inlined
def canonical_into(
    keys: Keys,
    values: Floats,
    l2: bool,  # noqa: FBT001
    bias: np.uint64,
    out_keys: Keys,
    out_values: Floats,
) -> int:
    """Write the canonical form of an example; return the number of its features."""
    _sort(keys, values, out_keys, out_values)
    count = _merge(out_keys, out_values, keys.size)
    if l2:
        _normalise(out_values[:count])
        count = _drop_zeros(out_keys, out_values, count)  # the smallest may underflow beside the largest
    if bias != np.uint64(0):
        count = _add(out_keys, out_values, count, bias, 1.0)
    return count


@inlined
def _sort(keys: Keys, values: Floats, out_keys: Keys, out_values: Floats) -> None:
    """Copy sorted by key, stable: a bucket sort by the upper bits (keys are hashes), then an insertion sort."""
    count = keys.size
    if count <= SHORT:
        for k in range(count):
            out_keys[k], out_values[k] = keys[k], values[k]
    elif count > BUCKETS_AT_MOST:  # safe against many crafted keys that all fall into one bucket
        order = np.argsort(keys, kind="mergesort")
        for k in range(count):
            out_keys[k], out_values[k] = keys[order[k]], values[order[k]]
        return
    else:
        _spread(keys, values, out_keys, out_values)
    for k in range(1, count):
        key, value, j = out_keys[k], out_values[k], k
        while j > 0 and out_keys[j - 1] > key:
            out_keys[j], out_values[j] = out_keys[j - 1], out_values[j - 1]
            j -= 1
        out_keys[j], out_values[j] = key, value


@inlined
def _spread(keys: Keys, values: Floats, out_keys: Keys, out_values: Floats) -> None:
    """Counting sort by the upper bits, with about one key per bucket."""
    bits = 1
    while (1 << bits) < keys.size:
        bits += 1
    shift = np.uint64(64 - bits)
    places = np.zeros((1 << bits) + 1, np.int64)
    for key in keys:
        places[(key >> shift) + np.uint64(1)] += 1
    for b in range(1 << bits):
        places[b + 1] += places[b]
    for k in range(keys.size):
        bucket = keys[k] >> shift
        out_keys[places[bucket]], out_values[places[bucket]] = keys[k], values[k]
        places[bucket] += 1


@inlined
def _merge(keys: Keys, values: Floats, count: int) -> int:
    """Add up the values of equal keys and drop zeros, in place; return how many features remain."""
    kept = k = 0
    while k < count:
        key, value = keys[k], values[k]
        k += 1
        while k < count and keys[k] == key:
            value += values[k]
            k += 1
        if value != 0.0:
            keys[kept], values[kept] = key, value
            kept += 1
    return kept


@inlined
def _drop_zeros(keys: Keys, values: Floats, count: int) -> int:
    """Drop features whose value became 0, in place; return how many remain."""
    kept = 0
    for k in range(count):
        if values[k] != 0.0:
            keys[kept], values[kept] = keys[k], values[k]
            kept += 1
    return kept


@inlined
def _normalise(values: Floats) -> None:
    """Divide by the Euclidean norm, in two steps, so that squares of tiny values do not underflow."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    if largest == 0.0:
        return
    squares = 0.0
    for value in values:
        squares += (value / largest) * (value / largest)
    norm = math.sqrt(squares)
    for k in range(values.size):
        values[k] = values[k] / largest / norm


@inlined
def _add(keys: Keys, values: Floats, count: int, key: np.uint64, value: float) -> int:
    """Insert one feature in order; return how many there are now."""
    k = count
    while k > 0 and keys[k - 1] > key:
        k -= 1
    if k > 0 and keys[k - 1] == key:
        values[k - 1] += value
        return _drop_zeros(keys, values, count)
    for j in range(count, k, -1):
        keys[j], values[j] = keys[j - 1], values[j - 1]
    keys[k], values[k] = key, value
    return count + 1
