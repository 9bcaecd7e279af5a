"""Reads a dataset of any known format as a stream of batches, in memory that does not grow with the file."""

from collections.abc import Callable, Iterator
from pathlib import Path

from app.datasets import jsonl, libsvm, urls, vw
from app.datasets.batch import Batch
from app.datasets.faults import Faults, OnError, Report
from app.datasets.formats import Format, by_first_line, by_suffix
from app.datasets.lines import BLOCK_BYTES, Block, blocks
from app.datasets.opening import open_source

Progress = Callable[[int, int | None], None]

PARSERS: dict[Format, Callable[[Block, Faults], Batch]] = {
    "libsvm": libsvm.parse,
    "vw": vw.parse,
    "jsonl": jsonl.parse,
    "urls": urls.parse,
}


def read(  # noqa: PLR0913 - each is an option of the command line
    path: str | Path,
    *,
    format: Format | None = None,  # noqa: A002 - the word that users know
    on_error: OnError = "stop",
    report: Report | None = None,
    progress: Progress | None = None,
    batch_examples: int = 4096,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[Batch]:
    """Yield the examples of a file ("-": standard input) in order, in batches of at most `batch_examples`.

    A malformed line stops the reading with a DatasetError after the examples before it; with on_error="skip" it is left
    out and `report(line_number, reason)` is called. `progress(bytes_read, bytes_in_all)` is called after each block.
    """
    with open_source(path) as source:
        chosen = format or by_suffix(path)
        faults = Faults(source.name, on_error, report)
        for block in blocks(source, block_bytes):
            if not block.is_blank:
                chosen = chosen or by_first_line(block, source.name)
                yield from PARSERS[chosen](block, faults).split(batch_examples)
            if faults.fatal is not None:
                raise faults.fatal
            if progress is not None:
                progress(source.consumed, source.total)
