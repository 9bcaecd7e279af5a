"""Spam and other mails, featurised as the service does it."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain, islice
from typing import Final

import numpy as np

from app.datasets.batch import Batch, BatchBuilder
from app.datasets.errors import LineErrors
from app.datasets.mails.corpus import open_mails
from app.datasets.mails.mail import Mail
from app.datasets.source import Observer
from app.features.featurizer import features_of
from experiments.sets.source import Source, located

TREC: Final = "email/trec07p-1-25000.tar.xz"
POOL: Final = {TREC: 25_000, "email/spamassassin.tar.xz": 6_046, "email/enron1-3.tar.xz": 16_541}  # mails of each
SEED: Final = 1
BATCH_NONZEROS: Final = 1 << 18


def _read(archives: dict[str, int], limit: int | None) -> Iterator[Batch]:
    """Featurise only as many mails as the limit asks for."""
    with ExitStack() as stack:
        faults = [LineErrors(file) for file in archives]
        opened = [
            stack.enter_context(open_mails(located(file), each, Observer()))
            for file, each in zip(archives, faults, strict=True)
        ]
        yield from _batches(islice(mixed([iter(mails) for mails in opened], list(archives.values())), limit))
        for fault in faults:
            if fault.fatal is not None:
                raise fault.fatal


def mixed(archives: list[Iterator[Mail]], sizes: list[int]) -> Iterator[Mail]:
    """Mix archives at random, in proportion to their sizes; each archive keeps its own order."""
    turns = np.random.default_rng(SEED).permutation(np.repeat(np.arange(len(sizes)), sizes))
    for turn in turns.tolist():
        yield from islice(archives[turn], 1)
    yield from chain.from_iterable(archives)  # an archive may hold more mails than expected


def raw_mails(source: Source, count: int) -> list[tuple[int, bytes]]:
    """Return the first mails as they are, each after its label: 1 for an anomaly, -1 for a normal one."""
    with open_mails(located(source.files[0]), LineErrors(source.files[0]), Observer()) as mails:
        return [(int(mail.label), mail.raw) for mail in islice(mails, count)]


def _batches(mails: Iterable[Mail]) -> Iterator[Batch]:
    rows = BatchBuilder()
    for mail in mails:
        rows.add(mail.label, features_of("email", mail.raw).example)
        if rows.nonzeros >= BATCH_NONZEROS:
            yield rows.batch()
            rows = BatchBuilder()
    if len(rows):
        yield rows.batch()


TREC07P: Final = Source("trec07p", "TREC 2007 mails", (TREC,), partial(_read, {TREC: POOL[TREC]}))
SPAMASSASSIN: Final = Source(
    "spamassassin", "SpamAssassin mails", tuple(POOL)[1:2], partial(_read, dict(list(POOL.items())[1:2]))
)
ENRON: Final = Source("enron", "Enron mails", tuple(POOL)[2:], partial(_read, dict(list(POOL.items())[2:])))
MAILS: Final = Source("mails", "Mail pool", tuple(POOL), partial(_read, POOL))
