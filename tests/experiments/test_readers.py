"""The readers of single sets: files that were given, mails, newsgroups and the synthetic set."""

import io
import tarfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from app.datasets.mails.mail import Mail
from experiments.sets.files import given
from experiments.sets.mails import MAILS, mixed
from experiments.sets.news import NEWS, body_of, label_of, ngrams
from experiments.sets.synthetic import KEYS, SYNTHETIC, plane
from kernels.arrays import Floats
from kernels.feature_hash import key_of
from tests.data import shared_data

LINES = b"+1 1:0.5 16609143:1e-3\n-1 2:1\n"
EXAMPLES = 20_000


def test_given_files_are_read_as_libsvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert given("set", "train", "test").absent() == [tmp_path / "train", tmp_path / "test"]
    (tmp_path / "train").write_bytes(LINES)
    assert given("set", "train").test is None
    (batch,) = given("set", "train").train(None)
    assert batch.labels.tolist() == [1.0, -1.0]
    assert batch.keys.tolist() == [key_of(name) for name in ("1", "16609143", "2")]
    assert batch.values.tolist() == [0.5, 1e-3, 1.0]


def test_the_name_of_a_mail_is_no_feature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_DATA", str(tmp_path))
    (tmp_path / "email").mkdir()
    for file in MAILS.files:
        (tmp_path / file).write_bytes(
            packed(["enron1/spam/0006.2003-12-18.GP.spam.txt", "enron1/ham/0001.1999-12-10.farmer.ham.txt"])
        )
    batches = list(MAILS.train(None))
    keys = {
        tuple(batch.keys[a:b].tolist())
        for batch in batches
        for a, b in zip(batch.starts[:-1], batch.starts[1:], strict=True)
    }
    assert Counter(label for batch in batches for label in batch.labels) == {1.0: 3, -1.0: 3}
    assert len(keys) == 1


def test_mails_of_several_archives_are_mixed_and_each_keeps_its_order() -> None:
    ours, theirs = numbered(1.0, 300), numbered(-1.0, 100)
    found = list(mixed([ours, theirs], [300, 90]))  # ten more than was thought
    assert [mail.done for mail in found if mail.label > 0] == list(range(300))
    assert [mail.done for mail in found if mail.label < 0] == list(range(100))
    assert 10 < sum(mail.label < 0 for mail in islice(found, 100)) < 40


def numbered(label: float, count: int) -> Iterator[Mail]:
    return iter([Mail(label, b"", number, None) for number in range(count)])


def packed(paths: list[str]) -> bytes:
    """An archive of mails that are all alike."""
    text = b"Subject: pipeline\n\nthe same words\n"
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for path in paths:
            info = tarfile.TarInfo(path)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return content.getvalue()


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
    assert ngrams(text.split(), 3).tolist() == sorted(map(key_of, runs))


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_header_lines_are_not_looked_at(end: bytes) -> None:
    article = end.join([b"Newsgroups: sci.space", b"Subject: moon", b"", b"To the", b"", b"moon: r\xe9sum\xe9"])
    assert body_of(article).split() == ["To", "the", "moon:", "résumé"]
    assert body_of(b"Newsgroups: sci.space") == ""


def test_the_group_gives_the_label() -> None:
    groups = ("comp.windows.x", "sci.crypt", "misc.forsale", "rec.autos", "talk.politics.misc", "alt.atheism")
    assert [label_of(f"20_newsgroups/{group}/1234") for group in groups] == [1.0] * 3 + [-1.0] * 3


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


@cache
def dense() -> tuple[Floats, Floats]:
    """Examples as a matrix, and their labels."""
    batches = list(SYNTHETIC.train(EXAMPLES))
    order = np.argsort(KEYS)
    columns = order[np.searchsorted(KEYS[order], np.concatenate([batch.keys for batch in batches]))]
    matrix = np.zeros((EXAMPLES, KEYS.size))
    matrix[np.repeat(np.arange(EXAMPLES), 300), columns] = np.concatenate([batch.values for batch in batches])
    return matrix, np.concatenate([batch.labels for batch in batches])


def test_100_dimensions_decide_on_the_label_and_200_are_noise() -> None:
    matrix, labels = dense()
    assert matrix.shape == (EXAMPLES, 1_000)
    assert ((matrix[:, :100] != 0).sum(axis=1) == 100).all()
    assert ((matrix[:, 100:] != 0).sum(axis=1) == 200).all()
    assert (np.sign(matrix[:, :100] @ plane()[0]) == labels).all()


def test_dimensions_have_the_mean_and_variance_of_the_paper() -> None:
    matrix, _ = dense()
    mean, deviations = plane()
    effective = matrix[:, :100]
    assert np.abs((effective.mean(axis=0) - mean) / deviations).max() < 4 / np.sqrt(EXAMPLES)
    assert effective.var(axis=0) == pytest.approx(deviations**2, rel=0.05)
    noise = matrix[:, 100:]
    drawn = noise[noise != 0]
    assert drawn.mean() == pytest.approx(0.0, abs=0.05)
    assert drawn.var() == pytest.approx(100.0, rel=0.01)
    assert (noise != 0).mean(axis=0) == pytest.approx(200 / 900, rel=0.08)
