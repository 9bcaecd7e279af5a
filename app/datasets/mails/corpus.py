"""Labelled mails of an archive or folder as a stream of batches, or raw."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.datasets.batch import Batch
from app.datasets.mails.archive import Archive
from app.datasets.mails.folder import Folder
from app.datasets.mails.mail import Mails
from app.datasets.observer import Watch
from app.datasets.parsers.rows import Rows
from app.datasets.skipped_lines import Faults
from app.datasets.source import STDIN, open_source
from app.features.featurizer import features_of

BATCH_NONZEROS = 1 << 18  # mails are long: a batch is rather limited by their features than by their number


@contextmanager
def open_mails(path: str | Path, faults: Faults, watch: Watch) -> Iterator[Mails]:
    """Open an archive ("-": standard input) or a folder."""
    if path != STDIN and Path(path).is_dir():
        yield Folder(Path(path), faults)
        return
    with open_source(path) as source:
        yield Archive(source, faults, watch)


def read_mails(path: str | Path, featurizer: int, faults: Faults, watch: Watch, batch_examples: int) -> Iterator[Batch]:
    """Yield the features of the mails in order; a fault that stops the reading comes after the mails before it."""
    rows = Rows()
    with open_mails(path, faults, watch) as mails:
        for mail in mails:
            rows.add(mail.label, features_of("email", mail.raw, featurizer).example)
            if len(rows) == batch_examples or rows.nonzeros >= BATCH_NONZEROS:
                yield rows.batch()
                rows = Rows()
            watch.progress(mail.done, mail.total)
    if len(rows):
        yield rows.batch()
    if faults.fatal is not None:
        raise faults.fatal
