"""A set like the paper's NEWS, built from the same articles: 20 newsgroups, ten against the other ten."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from app.datasets.batch import Batch
from app.datasets.mails.tar_members import members
from app.datasets.source import open_source
from app.features.tokens import words_of
from experiments.examples import Examples
from experiments.sets.source import Source, first, located
from kernels.arrays import Bytes, Keys
from kernels.compiler import kernel
from kernels.feature_hash import hash_name

FILE: Final = "text/20-newsgroups.tar.xz"
POSITIVE: Final = ("comp.", "sci.", "misc.forsale")  # ten of the groups
LONGEST_RUN: Final = 3  # words
SEED: Final = 1
BATCH: Final = 1_000  # examples
SPACE: Final = 32


class NoNames:
    """Names of keys that were hashed without keeping them."""

    def __getitem__(self, position: int, /) -> str:
        return ""


def body_of(article: bytes) -> str:
    """Return the text below the header lines; Newsgroups, Xref, Subject and Organization would reveal the group."""
    return article.replace(b"\r\n", b"\n").partition(b"\n\n")[2].decode("latin-1")


def label_of(path: str) -> float:
    return 1.0 if path.split("/")[-2].startswith(POSITIVE) else -1.0


def _read(limit: int | None) -> Iterator[Batch]:
    """Read all articles whatever the limit: features of a single article are dropped."""
    labels, articles = [], []
    with open_source(located(FILE)) as source:
        for member in members(source):
            labels.append(label_of(member.path))
            articles.append(ngrams(words_of(body_of(member.read())), LONGEST_RUN))
    order = np.random.default_rng(SEED).permutation(len(labels))  # the archive is in order of groups
    ordered = [articles[place] for place in order.tolist()]
    keys = np.concatenate(ordered)
    starts = np.cumsum([0, *map(len, ordered)])
    whole = Examples(starts, keys, np.ones(keys.size), np.array(labels)[order]).without_singletons()
    batch = Batch(whole.starts, whole.keys, whole.values, whole.labels, NoNames())
    yield from first(batch.split(BATCH), limit)


def ngrams(words: list[str], longest: int) -> Keys:
    """Return the distinct keys of all runs of 1 to `longest` words, ascending."""
    if not words:
        return np.empty(0, np.uint64)
    keys = np.empty(longest * len(words), np.uint64)
    return np.unique(keys[: _hash_runs(np.frombuffer(" ".join(words).encode(), np.uint8), longest, keys)])


@kernel
def _hash_runs(text: Bytes, longest: int, keys: Keys) -> int:
    """Hash the runs of words separated by single spaces; return how many there are."""
    starts = np.zeros(longest, np.int64)  # of the latest words
    words = count = 0
    for stop in range(text.size + 1):
        if stop == text.size or text[stop] == SPACE:
            for before in range(min(words + 1, longest)):
                keys[count] = hash_name(text, starts[(words - before) % longest], stop)
                count += 1
            words += 1
            starts[words % longest] = stop + 1
    return count


NEWS: Final = Source("news", "NEWS (20 newsgroups)", (FILE,), _read)
