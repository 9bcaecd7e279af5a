"""PCMAC, one of the paper's sets: articles of two newsgroups on computers, as counts of words."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from app.datasets.batch import Batch
from experiments.sets.columns import batch_of, numbered
from experiments.sets.source import Source, first, located

FILE: Final = "sparse/PCMAC.mat"
POSITIVE: Final = 1  # the other class is 2
SEED: Final = 1
BATCH: Final = 500  # examples


def _read(limit: int | None) -> Iterator[Batch]:
    from scipy.io import loadmat  # noqa: PLC0415 - only the benchmarks have it

    found = loadmat(located(FILE))
    # The file has one class behind the other.
    order = np.random.default_rng(SEED).permutation(len(found["X"]))
    counts = found["X"][order]
    labels = np.where(found["Y"].ravel()[order] == POSITIVE, 1.0, -1.0)
    yield from first(batch_of(counts, labels, numbered(counts.shape[1])).split(BATCH), limit)


PCMAC: Final = Source(
    name="pcmac",
    title="PCMAC",
    text=(
        "Newsgroup articles on PC and on Mac hardware as counts of words: one of the paper's sets, but in the edition "
        "with 1,943 articles and 3,289 words, where the paper has 1,946 and 7,510. Shuffled: the file is in order of "
        "class. With a fifth of it held out, one test error is a quarter of a per cent."
    ),
    files=(FILE,),
    train=_read,
)
