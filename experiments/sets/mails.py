"""Spam and other mails, by the features that the service makes of them."""

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
    """Only the mails that are asked for are turned into features."""
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
    """Yield from one archive or the other by chance, as often as it has mails; each archive keeps its own order."""
    turns = np.random.default_rng(SEED).permutation(np.repeat(np.arange(len(sizes)), sizes))
    for turn in turns.tolist():
        yield from islice(archives[turn], 1)
    yield from chain.from_iterable(archives)  # of one that has more than was thought


def _batches(mails: Iterable[Mail]) -> Iterator[Batch]:
    rows = BatchBuilder()
    for mail in mails:
        rows.add(mail.label, features_of("email", mail.raw).example)
        if rows.nonzeros >= BATCH_NONZEROS:
            yield rows.batch()
            rows = BatchBuilder()
    if len(rows):
        yield rows.batch()


TREC07P: Final = Source(
    name="trec07p",
    title="TREC 2007 mails",
    text=(
        "The first 25,000 mails of TREC's public corpus of 2007 in order of arrival, three in four of them spam (1). "
        "Lines that filters wrote are not looked at. Many bodies come again and again, so a part that is held out at "
        "random has been seen in part."
    ),
    files=(TREC,),
    train=partial(_read, {TREC: POOL[TREC]}),
)
MAILS: Final = Source(
    name="mails",
    title="Mail pool",
    text=(
        "The mails of TREC 2007, SpamAssassin and Enron (1 to 3), mixed by chance; spam is 1. Each corpus has its own "
        "share of spam (75%, 31% and 27%) and its own look, Enron's mails have no header line but the subject, so "
        "where a mail is from already tells something of its class. Enron's dates are in file names only, and those "
        "are not read."
    ),
    files=tuple(POOL),
    train=partial(_read, POOL),
)
