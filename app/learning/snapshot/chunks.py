"""The large parts of a snapshot as chunks of bytes.

Rows and names are split by ranges of their keys, so the content of a chunk does not depend on history, and a new
feature changes only one chunk. Chunks of rows and of the matrix are views: nothing is copied.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from app.learning.model import LEAST_DENSE
from app.learning.parts.names import Names, Run
from kernels.arrays import Ends, Floats, Ints, Keys
from kernels.table.layout import range_starts

ROWS, DENSE, NAMES, NUMBERS = "rows", "dense", "names", "numbers"
HONEST = "honest"  # the sums and histograms of chosen items; only if there are any
LOG = "log"  # only in files: events, which a state does not need
CHUNK_BITS = 12  # about 4,096 rows or names in a chunk
ASCENDING, DESCENDING = np.uint64(0), ~np.uint64(0)
KEY_BYTES, LENGTH_BYTES = 8, 4
COUNT_BYTES = 8

Data = bytes | memoryview


def row_chunks(rows: Floats) -> Iterator[tuple[int, Data]]:
    """Yield rows by ranges of their keys, the largest first."""
    keys = rows.reshape(-1).view(np.uint64)
    for number, start, stop in _ranges(keys, len(rows.T), DESCENDING):
        yield number, rows[start:stop].reshape(-1).data.cast("B")


def dense_chunks(dense: Floats) -> Iterator[tuple[int, Data]]:
    """Yield the rows of the matrix."""
    for number, line in enumerate(dense if dense.size else ()):
        yield number, line.data.cast("B")


def decode_dense(size: int, lines: Sequence[Data]) -> Floats:
    """Rebuild the matrix with a capacity of `size` features; ValueError if it is not square.

    The capacity is limited to what the features needed when they were added: a short file must not take much memory.
    """
    if not size:
        return np.zeros((0, 0))
    used = max(len(lines) - 1, 0)
    if any(len(line) != 8 * used for line in lines):
        raise ValueError("its matrix is not square")
    capacity = min(size, max(LEAST_DENSE, 1 << max(used - 1, 0).bit_length()))
    dense = np.vstack([np.zeros(capacity), np.eye(capacity)])
    for number, line in enumerate(lines):
        dense[number, :used] = np.frombuffer(line)
    return dense


def name_chunks(names: Names) -> Iterator[tuple[int, Data]]:
    """Yield names by ranges of their keys: their number, the keys, the lengths of the names, and their UTF-8."""
    run = names.run()
    keys, text = run.keys, run.text
    starts = np.concatenate([np.zeros(1, np.uint32), run.ends])
    lengths = starts[1:] - starts[:-1]
    for number, start, stop in _ranges(keys, 1, ASCENDING):
        letters = text[starts[start] : starts[stop]]
        count = (stop - start).to_bytes(COUNT_BYTES, "little")
        yield number, b"".join([count, keys[start:stop].data, lengths[start:stop].data, letters.data])


def decode_names(chunks: Sequence[Data]) -> Run:
    """Rebuild the run of names; ValueError if a chunk is too short."""
    parts = [_split(chunk) for chunk in chunks]
    keys = np.concatenate([np.empty(0, np.uint64), *(keys for keys, _, _ in parts)])
    lengths = np.concatenate([np.empty(0, np.uint32), *(lengths for _, lengths, _ in parts)])
    text = np.concatenate([np.empty(0, np.uint8), *(np.frombuffer(letters, np.uint8) for _, _, letters in parts)])
    return Run(keys, np.cumsum(lengths, dtype=np.uint64).astype(np.uint32), text)


def _split(chunk: Data) -> tuple[Keys, Ends, Data]:
    count = int.from_bytes(chunk[:COUNT_BYTES], "little")
    if len(chunk) < COUNT_BYTES + count * (KEY_BYTES + LENGTH_BYTES):
        raise ValueError("a chunk of names is too short")
    keys = np.frombuffer(chunk, np.uint64, count, COUNT_BYTES)
    lengths = np.frombuffer(chunk, np.uint32, count, COUNT_BYTES + keys.nbytes)
    return keys, lengths, chunk[COUNT_BYTES + keys.nbytes + lengths.nbytes :]


def _ranges(keys: Keys, width: int, flip: np.uint64) -> Iterator[tuple[int, int, int]]:
    """Yield index, start and end of each range of keys that is not empty; ranges halve as the keys double."""
    count = keys.size // width
    bits = max(count.bit_length() - CHUNK_BITS, 0)
    starts: Ints = np.empty(1 << bits, np.int64)
    range_starts(keys, width, flip, min(64 - bits, 63), starts)
    cuts = [*starts.tolist(), count]
    for number, (start, stop) in enumerate(pairwise(cuts)):
        if start < stop:
            yield number, start, stop
