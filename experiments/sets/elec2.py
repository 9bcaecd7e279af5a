"""ELEC2: does the price of electricity rise or fall? In order of time, with concept drift; six dense numbers."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from app.datasets.batch import Batch
from app.datasets.blocks import Block, blocks
from app.datasets.source import open_source
from experiments.sets.columns import batch_of
from experiments.sets.source import Source, first, located

FILE: Final = "drift/elec2.csv.xz"
# The file calls them feat_1 to feat_6. It has neither date nor day of the week, which is well: a date that only ever
# grows tells a learner how the past was, not what comes.
NAMES: Final = ("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer")
BLOCK_BYTES: Final = 1 << 18


def _read(limit: int | None) -> Iterator[Batch]:
    return first(_batches(), limit)


def _batches() -> Iterator[Batch]:
    with open_source(located(FILE)) as source:
        yield from map(_batch, blocks(source, BLOCK_BYTES))


def _batch(block: Block) -> Batch:
    rows = np.array([line.split(b",") for number, line in block.lines() if number > 1], np.float64)
    return batch_of(rows[:, :-1], np.where(rows[:, -1] > 0.0, 1.0, -1.0), NAMES)


ELEC2: Final = Source(
    name="elec2",
    title="ELEC2",
    text=(
        "The electricity market of New South Wales, 1996 to 1998, every half hour in order of time: will the price "
        "rise (1) or fall? Six numbers between 0 and 1, dense. It drifts, and labels come in runs: a part that is held "
        "out at random lies between examples that were learnt."
    ),
    files=(FILE,),
    train=_read,
)
