"""Reads a dataset of any known format as a stream of batches, in memory that does not grow with the file."""

from collections.abc import Callable, Iterator
from pathlib import Path

from app.datasets.batch import Batch
from app.datasets.blocks import BLOCK_BYTES, Block, blocks
from app.datasets.formats import Format, by_first_line, by_name
from app.datasets.mails.corpus import read_mails
from app.datasets.observer import Watch
from app.datasets.parsers import jsonl, libsvm, texts, urls, vw
from app.datasets.skipped_lines import Faults, OnError, Report
from app.datasets.source import name_of, open_source
from app.features.featurizer import NEWEST

Parser = Callable[[Block, Faults], Batch]

NUMBERS: dict[Format, Parser] = {"libsvm": libsvm.parse, "vw": vw.parse}
RAW: dict[Format, Callable[[Block, Faults, int], Batch]] = {
    "jsonl": jsonl.parse,
    "urls": urls.parse,
    "texts": texts.parse,
}


def read(  # noqa: PLR0913 - each is an option of the command line
    path: str | Path,
    *,
    format: Format | None = None,  # noqa: A002 - the word that users know
    featurizer: int = NEWEST,
    on_error: OnError = "stop",
    report: Report | None = None,
    watch: Watch | None = None,
    batch_examples: int = 4096,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[Batch]:
    """Yield the examples of a file ("-": standard input) or folder in order, in batches of at most `batch_examples`.

    A malformed line stops the reading with a DatasetError after the examples before it; with on_error="skip" it is left
    out and `report(line_number, reason)` is called. `watch` is told of the progress after each block.
    """
    chosen = format or by_name(path)
    watch = watch or Watch()
    if chosen == "mails":
        yield from read_mails(path, featurizer, Faults(name_of(path), on_error, report), watch, batch_examples)
        return
    with open_source(path) as source:
        faults = Faults(source.name, on_error, report)
        for block in blocks(source, block_bytes):
            if not block.is_blank:
                chosen = chosen or by_first_line(block, path, source.name)
                yield from _parser(chosen, featurizer)(block, faults).split(batch_examples)
            if faults.fatal is not None:
                raise faults.fatal
            watch.progress(source.consumed, source.total)


def _parser(chosen: Format, featurizer: int) -> Parser:
    if chosen in NUMBERS:
        return NUMBERS[chosen]
    parse = RAW[chosen]
    return lambda block, faults: parse(block, faults, featurizer)
