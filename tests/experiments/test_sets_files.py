import bz2
import gzip
import io
import lzma
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from app.datasets.errors import DatasetError
from app.datasets.mails.corpus import open_mails
from app.datasets.mails.mail import Mail
from app.datasets.observer import Watch
from app.datasets.skipped_lines import Faults
from experiments.sets.files import given
from experiments.sets.mails import MAILS, POOL, mixed
from kernels.feature_hash import key_of
from tests.data import shared_data

LINES = b"+1 1:0.5 16609143:1e-3\n-1 2:1\n"


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_a_given_file_may_be_compressed(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "webspam"
    path.write_bytes(compress(LINES))
    (batch,) = given("webspam", path).train(None)
    assert batch.labels.tolist() == [1.0, -1.0]
    assert batch.keys.tolist() == [key_of(name) for name in ("1", "16609143", "2")]
    assert batch.values.tolist() == [0.5, 1e-3, 1.0]


@pytest.mark.parametrize(("positive", "negative"), [("1", "-1"), ("+1", "-1"), ("1", "0"), ("1.0", "-1.0")])
def test_labels_may_be_spelt_in_several_ways(positive: str, negative: str, tmp_path: Path) -> None:
    path = tmp_path / "set"
    path.write_text(f"{positive} 1:1\n{negative} 2:1\n", encoding="utf-8")
    assert [label for batch in given("set", path).train(None) for label in batch.labels] == [1.0, -1.0]


def test_labels_1_and_2_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "set"
    path.write_text("1 1:1\n2 2:1\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="'2' is not a label"):
        list(given("set", path).train(None))


def test_a_test_may_be_given(tmp_path: Path) -> None:
    (tmp_path / "train").write_bytes(LINES)
    (tmp_path / "test").write_bytes(b"0 7:1\n")
    assert given("set", tmp_path / "train").test is None
    test = given("set", tmp_path / "train", tmp_path / "test").test
    assert test is not None
    (batch,) = test(None)
    assert batch.name_at(0) == "7"


def test_a_given_file_is_sought_where_the_user_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert given("set", "train", "test").absent() == [tmp_path / "train", tmp_path / "test"]


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("file", "spam", "ham"),
    [("email/spamassassin.tar.xz", 1_896, 4_150), ("email/enron1-3.tar.xz", 4_496, 12_045)],
)
def test_folders_give_the_labels_of_mails(file: str, spam: int, ham: int) -> None:
    with open_mails(shared_data(file), Faults(file), Watch()) as mails:
        assert Counter(mail.label for mail in mails) == {1.0: spam, -1.0: ham}
    assert POOL[file] == spam + ham


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
