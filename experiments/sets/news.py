"""A set like the paper's NEWS, from the articles that it was made of: 20 newsgroups, ten against the other ten."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from app.datasets.batch import Batch
from app.datasets.mails.tar_members import members
from app.datasets.source import open_source
from app.features.tokens import words_of
from experiments.sets.ngrams import in_several, ngrams
from experiments.sets.source import Source, first, located
from kernels.arrays import Floats, Ints, Keys

FILE: Final = "text/20-newsgroups.tar.xz"
POSITIVE: Final = ("comp.", "sci.", "misc.forsale")  # ten of the groups
LONGEST_RUN: Final = 3  # words
SEED: Final = 1
BATCH: Final = 1_000  # examples


class NoNames:
    """For keys whose names were not kept."""

    def __getitem__(self, position: int, /) -> str:
        """Return an empty name."""
        return ""


def body_of(article: bytes) -> str:
    """The text below the header lines, which would give the group away: Newsgroups, Xref, Subject, Organization."""
    return article.replace(b"\r\n", b"\n").partition(b"\n\n")[2].decode("latin-1")


def label_of(path: str) -> float:
    """By the group, which is the folder that an article is in."""
    return 1.0 if path.split("/")[-2].startswith(POSITIVE) else -1.0


def _read(limit: int | None) -> Iterator[Batch]:
    """All articles are looked at, whatever the limit: only then is it known what only one of them has."""
    labels, articles = _articles()
    order = np.random.default_rng(SEED).permutation(labels.size)  # the archive is in order of groups
    starts, keys = _without_singletons([articles[place] for place in order.tolist()])
    batch = Batch(starts, keys, np.ones(keys.size), labels[order], NoNames())
    yield from first(batch.split(BATCH), limit)


def _articles() -> tuple[Floats, list[Keys]]:
    labels, articles = [], []
    with open_source(located(FILE)) as source:
        for member in members(source):
            labels.append(label_of(member.path))
            articles.append(ngrams(words_of(body_of(member.read())), LONGEST_RUN))
    return np.array(labels), articles


def _without_singletons(articles: list[Keys]) -> tuple[Ints, Keys]:
    keys = np.concatenate(articles)
    kept = in_several(keys)
    ends = np.cumsum([0, *(article.size for article in articles)])
    return np.concatenate([[0], np.cumsum(kept)])[ends], keys[kept]


NEWS: Final = Source(
    name="news",
    title="NEWS (20 newsgroups)",
    text=(
        "20 newsgroups, comp.*, sci.* and misc.forsale (1) against the other ten (-1): all runs of one to three words "
        "that at least two articles have, each worth 1, from the text below the header lines. Made here from the "
        "articles that the paper's NEWS is of, so it is like it and not the same. Quotations and signatures are left "
        "in; some 650 articles have the same text as another one, a few as one of the other class; 42 have no words."
    ),
    files=(FILE,),
    train=_read,
)
