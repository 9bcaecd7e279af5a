"""Reads a dataset of any known format as a stream of batches, in memory that does not grow with the file."""

from collections.abc import Callable, Iterator
from pathlib import Path

from app.datasets.batch import Batch
from app.datasets.blocks import BLOCK_BYTES, Block, blocks
from app.datasets.errors import LineErrors, OnError, Report
from app.datasets.formats import Format, by_first_line, by_name
from app.datasets.mails.corpus import read_mails
from app.datasets.parsers import jsonl, libsvm, tsv, vw
from app.datasets.source import Observer, name_of, open_source
from app.features.featurizer import NEWEST

Parser = Callable[[Block, LineErrors], Batch]

NUMBERS: dict[Format, Parser] = {"libsvm": libsvm.parse, "vw": vw.parse}
RAW: dict[Format, Callable[[Block, LineErrors, int], Batch]] = {
    "jsonl": jsonl.parse,
    "urls": tsv.parse_urls,
    "texts": tsv.parse_texts,
}


def read(  # noqa: PLR0913 - each is an option of the command line
    path: str | Path,
    *,
    format: Format | None = None,  # noqa: A002 - the word that users know
    featurizer: int = NEWEST,
    on_error: OnError = "stop",
    report: Report | None = None,
    observer: Observer | None = None,
    batch_examples: int = 4096,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[Batch]:
    """Yield the examples of a file ("-": standard input) or folder in order, in batches of at most `batch_examples`.

    A malformed line raises DatasetError after the examples before it are yielded; with on_error="skip" it is skipped
    and `report(line_number, reason)` is called. `observer.progress` is called after each block.
    """
    chosen = format or by_name(path)
    observer = observer or Observer()
    if chosen == "mails":
        yield from read_mails(path, featurizer, LineErrors(name_of(path), on_error, report), observer, batch_examples)
        return
    with open_source(path) as source:
        errors = LineErrors(source.name, on_error, report)
        for block in blocks(source, block_bytes):
            if not block.is_blank:
                chosen = chosen or by_first_line(block, path, source.name)
                yield from _parser(chosen, featurizer)(block, errors).split(batch_examples)
            if errors.fatal is not None:
                raise errors.fatal
            observer.progress(source.consumed, source.total)


def _parser(chosen: Format, featurizer: int) -> Parser:
    if chosen in NUMBERS:
        return NUMBERS[chosen]
    parse = RAW[chosen]
    return lambda block, errors: parse(block, errors, featurizer)
