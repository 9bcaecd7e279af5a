"""A fast copy of a state, from which a snapshot is encoded while the state continues to learn."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.learning.config import Config
from app.learning.parts.digest import compute_digest
from app.learning.parts.names import Names
from app.learning.prequential import Prequential
from app.learning.state import TenantState
from kernels.arrays import Floats
from kernels.learner import totals
from kernels.table.layout import copy_rows
from kernels.table.memory import Memory

SLACK = 1.02  # space for features that are added while the memory is prepared


@dataclass(frozen=True, slots=True)
class StateCopy:
    """A copy of a state. `extra` is stored beside it by the caller and is not part of the digest."""

    version: int
    config: Config
    counts: Prequential
    tally: Floats
    rows: Floats
    dense: Floats
    dense_size: int
    names: Names
    numbers: Floats  # rows of statistics
    number_bits: int  # 0 if numbers are not encoded
    extra: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The digest of the state."""
        return compute_digest(
            self.version, self.config, self.counts, [self.tally[: totals.BITS], self.rows, self.dense, self.numbers]
        )

    @property
    def is_finite(self) -> bool:
        """Whether it can be loaded again. The first column holds keys, which may look like NaN."""
        return all(
            np.isfinite(array).all() for array in (self.tally, self.rows[:, 1:], self.dense, self.numbers[:, 1:])
        )


def allocate_for(state: TenantState) -> Floats:
    """Allocate and touch memory for a copy: the first touch takes longer than copying, so do it before the copy."""
    room = _allocate(int(SLACK * state.model.features) * state.model.width)
    room.fill(0.0)
    return room


def copy_state(state: TenantState, extra: Mapping[str, str] | None = None, room: Floats | None = None) -> StateCopy:
    """Copy a state, which must not change meanwhile. Nearly all of it runs without the GIL.

    So it may run in a thread while others score. `room` is memory of `allocate_for`, used if it is still large enough.
    """
    model = state.model
    size = model.features * model.width
    rows = room[:size] if room is not None and room.size >= size else _allocate(size)
    copy_rows(model.memory.rows, model.width, 0, rows)
    return StateCopy(
        version=state.version,
        config=state.config,
        counts=state.prequential.copy(),
        tally=model.tally.copy(),
        rows=rows.reshape(-1, model.width),
        dense=model.dense_in_use.copy(),
        dense_size=len(model.dense.T),
        names=state.names.copy(),
        numbers=np.empty((0, 1)) if model.numbers is None else model.numbers.rows(),
        number_bits=0 if model.numbers is None else model.numbers.bits,
        extra=dict(extra or {}),
    )


def _allocate(size: int) -> Floats:
    """Allocate in huge pages if large: with small pages the copy takes twice as long."""
    return Memory(size).rows
