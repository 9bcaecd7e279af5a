"""Memory for the feature table: zeroed, grown in place, and in huge pages once it is large.

Growing by copying needs the old and the new table at once: 1.5 times the memory at the peak. So a large table is an
anonymous mapping, which the operating system extends by moving its pages.
"""

import mmap

import numpy as np

from kernels.arrays import Floats

LARGE_BYTES = 1 << 17  # below this, copying is cheap and a mapping would waste memory
FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


class Memory:
    """A zeroed float64 array, `rows`, that can change its length."""

    def __init__(self, size: int) -> None:
        self._mapping: mmap.mmap | None = None
        self.rows = self._allocate(size)

    def resize(self, size: int) -> None:
        """Change the length; new elements are 0. Views taken from `rows` before must no longer be used."""
        if self._mapping is not None and 8 * size >= LARGE_BYTES:
            end = self.rows.size
            self.rows = np.empty(0)
            try:
                self._mapping.resize(8 * size)
            finally:  # also after a failure: the table is then unchanged
                self.rows = np.frombuffer(self._mapping, np.float64)
            self.rows[end : end + mmap.PAGESIZE // 8] = 0.0  # an earlier shrink may have left data in that page
        else:
            before = self.rows
            self.rows = self._allocate(size)
            self.rows[: min(size, before.size)] = before[:size]

    def _allocate(self, size: int) -> Floats:
        if 8 * size < LARGE_BYTES:
            self._mapping = None
            return np.zeros(size)
        self._mapping = mmap.mmap(-1, 8 * size, flags=FLAGS)
        # Rows of a large table are read at random: most of the cost is address translation.
        self._mapping.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(self._mapping, np.float64)
