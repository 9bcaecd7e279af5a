"""Shuffles the examples of a file in an order that depends on the seed alone; holds the whole file in memory."""

from collections.abc import Iterable, Iterator

import numpy as np

from app.datasets.batch import Batch
from kernels.arrays import Ints


class _ShuffledNames:
    """The names of the non-zeros in their new order."""

    def __init__(self, batches: list[Batch], places: Ints) -> None:
        self._batches = batches
        self._firsts = np.cumsum([0, *(batch.keys.size for batch in batches)])
        self._places = places

    def __getitem__(self, position: int, /) -> str:
        place = int(self._places[position])
        which = int(np.searchsorted(self._firsts, place, side="right")) - 1
        return self._batches[which].name_at(place - int(self._firsts[which]))


def shuffled(batches: Iterable[Batch], seed: int, examples: int = 4096) -> Iterator[Batch]:
    """Yield all examples in the order of the seed, in batches of at most `examples`."""
    held = list(batches)
    if not held:
        return
    lengths = np.concatenate([np.diff(batch.starts) for batch in held])
    order = np.random.default_rng(seed).permutation(lengths.size)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    new_starts = np.concatenate([[0], np.cumsum(lengths[order])])
    # Source index of each non-zero: its example's old start plus its offset within the example.
    places = np.repeat(starts[order] - new_starts[:-1], lengths[order]) + np.arange(new_starts[-1])
    yield from Batch(
        starts=new_starts,
        keys=np.concatenate([batch.keys for batch in held])[places],
        values=np.concatenate([batch.values for batch in held])[places],
        labels=np.concatenate([batch.labels for batch in held])[order],
        names=_ShuffledNames(held, places),
        given=np.concatenate([batch.given for batch in held])[order],
    ).split(examples)
