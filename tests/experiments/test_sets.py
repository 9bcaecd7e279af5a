"""Every set: what a limited read gives, that all of it is read, and what single readers do."""

import io
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from app.datasets.batch import Batch
from app.datasets.mails.mail import Mail
from experiments.sets import SOURCES
from experiments.sets.files import given
from experiments.sets.mails import MAILS, mixed
from experiments.sets.news import NEWS, body_of, label_of, ngrams
from experiments.sets.source import Source, first
from experiments.sets.synthetic import KEYS, SYNTHETIC, plane
from kernels.arrays import Floats
from kernels.feature_hash import key_of
from tests.data import shared_data

UNNAMED = ("news",)
Example = tuple[float, list[int], list[float]]

SLOW = ("news", "mails", "trec07p")  # to read even a little of them takes seconds
each_source = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.e2e if name in SLOW else ()) for name in SOURCES]
)


def source_of(name: str) -> Source:
    """A source that can be read here."""
    if name == "pcmac":
        pytest.importorskip("scipy")
    for file in SOURCES[name].files:
        shared_data(file)
    return SOURCES[name]


def examples_of(batches: Iterable[Batch]) -> list[Example]:
    return [
        (float(batch.labels[i]), batch.keys[a:b].tolist(), batch.values[a:b].tolist())
        for batch in batches
        for i, (a, b) in enumerate(zip(batch.starts[:-1].tolist(), batch.starts[1:].tolist(), strict=True))
    ]


@cache
def first_batches(name: str) -> list[Batch]:
    return list(source_of(name).train(500))


def first_examples(name: str) -> list[Example]:
    return examples_of(first_batches(name))


def labels_of(batches: Iterable[Batch]) -> list[float]:
    return [label for batch in batches for label in batch.labels.tolist()]


@each_source
def test_every_set_is_described_on_the_page(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert f"\n- **{SOURCES[name].title}**: " in page


@each_source
def test_a_limit_gives_the_first_examples_of_both_classes(name: str) -> None:
    assert len(first_examples(name)) == 500
    assert examples_of(source_of(name).train(100)) == first_examples(name)[:100]
    positives = labels_of(first_batches(name)).count(1.0)
    assert (5 if name == "w8a" else 50) <= positives <= 450  # w8a is 3% positive


@each_source
def test_a_key_is_the_hash_of_its_name(name: str) -> None:
    batch = first_batches(name)[0]
    keys = batch.keys[: batch.starts[3]].tolist()
    names = [batch.name_at(position) for position in range(len(keys))]
    if name in UNNAMED:
        assert set(names) == {""}
    else:
        assert [key_of(each) for each in names] == keys


@pytest.mark.parametrize("name", ["synthetic", "a9a"])
def test_a_test_of_its_own_has_other_examples(name: str) -> None:
    source = source_of(name)
    assert source.test is not None
    found = examples_of(source.test(500))
    assert len(found) == 500
    assert found != first_examples(name)


@pytest.mark.parametrize(
    ("name", "positives", "negatives"),
    [("pcmac", 982, 961), ("a9a", 7_841, 24_719), ("w8a", 1_479, 48_270), ("elec2", 19_237, 26_075)],
)
def test_every_example_is_read(name: str, positives: int, negatives: int) -> None:
    labels = labels_of(source_of(name).train(None))
    assert (labels.count(1.0), labels.count(-1.0)) == (positives, negatives)


def test_elec2_keeps_its_order_in_time() -> None:
    batch = next(source_of("elec2").train(96))
    periods = [batch.values[place] for place in range(batch.keys.size) if batch.name_at(place) == "period"]
    assert periods == pytest.approx([*np.arange(1, 48) / 47] * 2, abs=1e-6)  # the period 0 is left out


def test_files_that_are_absent_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_DATA", str(tmp_path))
    assert SOURCES["a9a"].absent() == [tmp_path / "sparse/a9a.xz", tmp_path / "sparse/a9a.t.xz"]
    assert SOURCES["synthetic"].absent() == []


@pytest.mark.parametrize(("limit", "batches"), [(0, 0), (1, 1), (10, 1), (11, 2), (20, 2), (99, 3), (None, 3)])
def test_no_batch_is_taken_beyond_the_limit(limit: int | None, batches: int) -> None:
    ten = next(SOURCES["synthetic"].train(10))
    taken = 0

    def endless() -> Iterable[Batch]:
        nonlocal taken
        for _ in range(3):
            taken += 1
            yield ten

    found = labels_of(first(endless(), limit))
    assert len(found) == min(30, 30 if limit is None else limit)
    assert taken == batches


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
    text = b"Subject: pipeline\n\nthe same words\n"
    for file in MAILS.files:
        with tarfile.open(tmp_path / file, "w") as archive:
            for path in ("enron1/spam/0006.2003-12-18.GP.spam.txt", "enron1/ham/0001.1999-12-10.farmer.ham.txt"):
                info = tarfile.TarInfo(path)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text))
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
