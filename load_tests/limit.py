"""The limit: a kernel that only reads and writes the rows of a stream, found beforehand, with the best prefetching."""

from collections.abc import Callable
from functools import partial

import numpy as np

from app.learning.model import Model
from kernels.arrays import Floats, Keys
from kernels.compiler import kernel
from kernels.learner import totals as place
from kernels.table.rows import ONE, Fresh, fetch, find
from load_tests.zipf import Stream

DISTANCES = (8, 16, 32, 64, 128)  # in non-zeros; and once without fetching, which is best for a table in the cache
UNCHANGED = 0.0  # what is added to the state: known only when running, so that no write can be left out


def limits(model: Model, stream: Stream, state: Fresh) -> dict[str, Callable[[], object]]:
    """The candidates; the fastest of them is the limit. They leave the model as it was."""
    rows = model.memory.rows
    slots = np.empty(stream.keys.size, np.uint64)
    missing = _find_all(rows, model.width, 64 - int(model.tally[place.BITS]), stream.keys, slots)
    assert missing == 0, "the table must hold every feature of the stream"
    ahead = {f"limit {d}": partial(_touch_ahead, rows, slots, state, d, UNCHANGED) for d in DISTANCES}
    return {"limit 0": partial(_touch, rows, slots, state, UNCHANGED), **ahead}


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
