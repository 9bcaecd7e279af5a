"""Examples from columns of numbers: a feature is named after its column."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.datasets.batch import Batch
from kernels.arrays import Floats, Ints, Keys
from kernels.feature_hash import key_of


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNames:
    """The names of non-zeros, by the columns that they are in."""

    names: Sequence[str]
    columns: Ints

    def __getitem__(self, position: int, /) -> str:
        """Return the name of the non-zero at `position`."""
        return self.names[int(self.columns[position])]


def numbered(count: int) -> list[str]:
    """Names as a LIBSVM file has them."""
    return [str(column) for column in range(1, count + 1)]


def keys_of(names: Sequence[str]) -> Keys:
    """The key of each column."""
    return np.array([key_of(name) for name in names], np.uint64)


def batch_of(matrix: NDArray[np.number], labels: Floats, names: Sequence[str]) -> Batch:
    """Make a batch of the rows of a matrix; what is 0 in it is left out."""
    rows, columns = np.nonzero(matrix)
    return Batch(
        starts=np.searchsorted(rows, np.arange(len(matrix) + 1)).astype(np.int64),
        keys=keys_of(names)[columns],
        values=matrix[rows, columns].astype(np.float64),
        labels=labels,
        names=ColumnNames(names, columns),
    )
