"""Labelled mails of an archive or folder, raw or as a stream of batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.datasets.batch import Batch, BatchBuilder
from app.datasets.errors import LineErrors
from app.datasets.mails.archive import Archive
from app.datasets.mails.folder import Folder
from app.datasets.mails.mail import Mails
from app.datasets.source import STDIN, Observer, open_source
from app.features.featurizer import features_of

BATCH_NONZEROS = 1 << 18  # mails are long: their features limit a batch sooner than their number


@contextmanager
def open_mails(path: str | Path, errors: LineErrors, observer: Observer) -> Iterator[Mails]:
    """Open an archive ("-": standard input) or a folder."""
    if path != STDIN and Path(path).is_dir():
        yield Folder(Path(path), errors)
        return
    with open_source(path) as source:
        yield Archive(source, errors, observer)


def read_mails(
    path: str | Path, featurizer: int, errors: LineErrors, observer: Observer, batch_examples: int
) -> Iterator[Batch]:
    """Yield the features of the mails in order; raise a fatal error after the mails before it."""
    builder = BatchBuilder()
    with open_mails(path, errors, observer) as mails:
        for mail in mails:
            builder.add(mail.label, features_of("email", mail.raw, featurizer).example)
            if len(builder) == batch_examples or builder.nonzeros >= BATCH_NONZEROS:
                yield builder.batch()
                builder = BatchBuilder()
            observer.progress(mail.done, mail.total)
    if len(builder):
        yield builder.batch()
    if errors.fatal is not None:
        raise errors.fatal
