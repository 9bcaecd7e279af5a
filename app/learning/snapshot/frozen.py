"""A state at one moment: a quick copy, from which a snapshot can be made while the state goes on learning."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.learning.config import Config
from app.learning.digest import digest_of
from app.learning.names import Names
from app.learning.prequential import Prequential
from app.learning.state import TenantState
from kernels.arrays import Floats
from kernels.learner import totals as place
from kernels.table.layout import copy_rows
from kernels.table.memory import Memory

SLACK = 1.02  # room for features that come while the memory is made ready


@dataclass(frozen=True, slots=True)
class Frozen:
    """All of a state. `extra` is what its keeper wants to find again beside it: no part of the digest."""

    version: int
    config: Config
    counts: Prequential
    tally: Floats
    rows: Floats
    dense: Floats
    dense_size: int
    names: Names
    extra: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The digest that the state had."""
        return digest_of(self.version, self.config, self.counts, [self.tally[: place.BITS], self.rows, self.dense])

    @property
    def is_finite(self) -> bool:
        """Whether it can be read again; what is in the first column are keys, whatever they look like as numbers."""
        return all(np.isfinite(array).all() for array in (self.tally, self.rows[:, 1:], self.dense))


def room_for(state: TenantState) -> Floats:
    """Memory to freeze a state into, touched: the first touch takes longer than copying, and need not hold it up."""
    room = _memory(int(SLACK * state.model.features) * state.model.width)
    room.fill(0.0)
    return room


def freeze(state: TenantState, extra: Mapping[str, str] | None = None, room: Floats | None = None) -> Frozen:
    """Copy a state, which must not change meanwhile; nearly all of the time is spent without the GIL.

    So it may run in a thread while others score. `room` was made ready before, and is used if it is still enough.
    """
    model = state.model
    size = model.features * model.width
    rows = room[:size] if room is not None and room.size >= size else _memory(size)
    copy_rows(model.memory.rows, model.width, 0, rows)
    return Frozen(
        version=state.version,
        config=state.config,
        counts=state.prequential.copy(),
        tally=model.tally.copy(),
        rows=rows.reshape(-1, model.width),
        dense=model.dense_in_use.copy(),
        dense_size=len(model.dense.T),
        names=state.names.copy(),
        extra=dict(extra or {}),
    )


def _memory(size: int) -> Floats:
    """In huge pages, where it is large: half of the time would go into small ones."""
    return Memory(size).rows
