"""A set like the paper's NEWS, built from the same articles: 20 newsgroups, ten against the other ten."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.datasets.batch import Batch
from app.datasets.mails.tar_members import members
from app.datasets.source import open_source
from app.features.tokens import words_of
from experiments.sets.source import Source, first, located
from kernels.arrays import Bytes, Floats, Ints, Keys
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
        """Return an empty name."""
        return ""


def body_of(article: bytes) -> str:
    """Return the text below the header lines; Newsgroups, Xref, Subject and Organization would reveal the group."""
    return article.replace(b"\r\n", b"\n").partition(b"\n\n")[2].decode("latin-1")


def label_of(path: str) -> float:
    """Return the label of the group, which is the folder of the article."""
    return 1.0 if path.split("/")[-2].startswith(POSITIVE) else -1.0


def _read(limit: int | None) -> Iterator[Batch]:
    """Read all articles whatever the limit: features of a single article are dropped."""
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


def ngrams(words: list[str], longest: int) -> Keys:
    """Return the distinct keys of all runs of 1 to `longest` words, ascending."""
    if not words:
        return np.empty(0, np.uint64)
    keys = np.empty(longest * len(words), np.uint64)
    return keys[: hash_runs(np.frombuffer(" ".join(words).encode(), np.uint8), longest, keys)]


def in_several(keys: Keys) -> NDArray[np.bool_]:
    """Return whether each key occurs more than once."""
    slots = 1 << keys.size.bit_length()  # more than there can be different keys
    several = np.empty(keys.size, np.bool_)
    mark_repeated(keys, np.zeros(slots, np.uint64), np.zeros(slots, np.bool_), several)
    return several


@kernel
def hash_runs(text: Bytes, longest: int, keys: Keys) -> int:
    """Hash the runs of words separated by single spaces, ascending and distinct; return how many there are."""
    starts = np.zeros(longest, np.int64)  # of the latest words
    words = count = 0
    for stop in range(text.size + 1):
        if stop == text.size or text[stop] == SPACE:
            for before in range(min(words + 1, longest)):
                keys[count] = hash_name(text, starts[(words - before) % longest], stop)
                count += 1
            words += 1
            starts[words % longest] = stop + 1
    keys[:count].sort()
    return _drop_repeated(keys, count)


@kernel
def mark_repeated(keys: Keys, table: Keys, repeated: NDArray[np.bool_], marks: NDArray[np.bool_]) -> None:
    """Mark repeated keys with an open-addressing table, which is several times as fast as sorting."""
    for key in keys:
        slot = _slot(key, table)
        repeated[slot] = table[slot] == key
        table[slot] = key
    for k in range(keys.size):
        marks[k] = repeated[_slot(keys[k], table)]


@kernel
def _drop_repeated(keys: Keys, count: int) -> int:
    kept = 0
    for k in range(count):
        if k == 0 or keys[k] != keys[k - 1]:
            keys[kept] = keys[k]
            kept += 1
    return kept


@kernel
def _slot(key: np.uint64, table: Keys) -> np.uint64:
    mask = np.uint64(table.size - 1)
    slot = key & mask
    while table[slot] != key and table[slot] != np.uint64(0):  # no key is 0
        slot = (slot + np.uint64(1)) & mask
    return slot


NEWS: Final = Source("news", "NEWS (20 newsgroups)", (FILE,), _read)
