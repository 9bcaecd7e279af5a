import numpy as np
import pytest

from experiments.sets.news import NEWS, body_of, in_several, label_of, ngrams
from kernels.feature_hash import key_of
from tests.data import shared_data

GROUPS = {
    "comp.windows.x": 1.0,
    "sci.crypt": 1.0,
    "misc.forsale": 1.0,
    "rec.autos": -1.0,
    "soc.religion.christian": -1.0,
    "talk.politics.misc": -1.0,
    "alt.atheism": -1.0,
}


def keys_of(*names: str) -> list[int]:
    return sorted(map(key_of, names))


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("", ()),
        ("one", ("one",)),
        ("one two", ("one", "two", "one two")),
        ("a b c d", ("a", "b", "c", "d", "a b", "b c", "c d", "a b c", "b c d")),
        ("no no no no", ("no", "no no", "no no no")),
        ("Straße über", ("Straße", "über", "Straße über")),
    ],
)
def test_runs_of_up_to_three_words_are_hashed_once_each(text: str, runs: tuple[str, ...]) -> None:
    assert ngrams(text.split(), 3).tolist() == keys_of(*runs)


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 1_000])
def test_keys_that_come_again_are_found(size: int) -> None:
    keys = np.random.default_rng(size).integers(1, size + 2, size).astype(np.uint64) << np.uint64(40)
    counted = dict(zip(*np.unique(keys, return_counts=True), strict=True))
    assert in_several(keys).tolist() == [bool(counted[key] > 1) for key in keys]


@pytest.mark.parametrize(("group", "label"), GROUPS.items())
def test_the_group_gives_the_label(group: str, label: float) -> None:
    assert label_of(f"20_newsgroups/{group}/1234") == label


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_header_lines_are_not_looked_at(end: bytes) -> None:
    article = end.join([b"Newsgroups: sci.space", b"Subject: moon", b"", b"To the", b"", b"moon: r\xe9sum\xe9"])
    assert body_of(article).split() == ["To", "the", "moon:", "résumé"]


def test_an_article_without_a_body_is_empty() -> None:
    assert body_of(b"Newsgroups: sci.space\nSubject: moon") == ""


@pytest.mark.e2e
def test_the_whole_set_is_like_that_of_the_paper() -> None:
    """19,996 articles, as many of either class, and 1,355,191 features."""
    shared_data(NEWS.files[0])
    batches = list(NEWS.train(None))
    labels = np.concatenate([batch.labels for batch in batches])
    keys, counts = np.unique(np.concatenate([batch.keys for batch in batches]), return_counts=True)
    assert (labels.size, int((labels > 0).sum())) == (19_997, 10_000)
    assert 1_000_000 < keys.size < 1_500_000
    assert counts.min() == 2
