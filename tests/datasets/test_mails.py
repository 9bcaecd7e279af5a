import io
import lzma
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from app.datasets.errors import DatasetError, LineErrors, SkippedLines
from app.datasets.mails import archive as archives
from app.datasets.mails.archive import Archive
from app.datasets.mails.labels import label_of_folder
from app.datasets.reader import read
from app.datasets.source import Observer, open_source
from app.features.featurizer import features_of

Files = Mapping[str, str]
Give = Callable[[Files], Path]

MAILS = {f"data/inmail.{number}": f"Subject: number{number}\n\nwords of mail{number}\n" for number in range(1, 6)}
LABELS = {1: "spam", 2: "ham", 3: "spam", 4: "ham", 5: "ham"}
INDEX = "".join(f"{label} ../data/inmail.{number}\n" for number, label in LABELS.items())
IN_ORDER = {"full/index": INDEX, **MAILS}
FOLDERS = {
    f"corpus/{kind}/{number}.txt": f"Subject: {kind}{number}\n\n" for kind in ("spam", "ham") for number in range(50)
}


def packed(files: Files) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return content.getvalue()


@pytest.fixture(params=["tar", "tar.xz", "folder"])
def give(request: pytest.FixtureRequest, tmp_path: Path) -> Give:
    """Write files as an archive or a folder, and return its path."""

    def give(files: Files) -> Path:
        path = tmp_path / f"mails.{request.param}"
        if request.param == "folder":
            for name, text in files.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_text(text)
        else:
            path.write_bytes(packed(files) if request.param == "tar" else lzma.compress(packed(files)))
        return path

    return give


def found_in(path: Path, **options: object) -> list[tuple[float, list[int]]]:
    """Labels and keys of the mails in the order in which they come."""
    return [
        (label, batch.keys[start:stop].tolist())
        for batch in read(path, **options)  # type: ignore[arg-type]
        for label, start, stop in zip(batch.labels.tolist(), batch.starts[:-1], batch.starts[1:], strict=True)
    ]


def expected(*mails: tuple[float, str]) -> list[tuple[float, list[int]]]:
    return [(label, features_of("email", text.encode()).example.keys.tolist()) for label, text in mails]


BY_INDEX = expected(*((1.0 if LABELS[k] == "spam" else -1.0, text) for k, text in enumerate(MAILS.values(), 1)))


@pytest.mark.parametrize(
    "files",
    [IN_ORDER, dict(reversed(IN_ORDER.items())), {"full/index": INDEX, **dict(reversed(MAILS.items()))}],
    ids=["index first, in order", "index last", "index first, other order"],
)
def test_mails_are_in_the_order_of_the_index(give: Give, files: Files) -> None:
    assert found_in(give(files)) == BY_INDEX


def test_an_index_may_be_beside_its_mails(give: Give) -> None:
    files = {"index": "SPAM a\n\n0 b\n", "a": "x\n", "b": "y\n", "c": "not named\n"}
    assert found_in(give(files)) == expected((1.0, "x\n"), (-1.0, "y\n"))


def test_the_index_of_the_whole_corpus_takes_precedence(give: Give) -> None:
    assert found_in(give({"partial/index": "ham ../data/inmail.1\n", **MAILS, "full/index": INDEX})) == BY_INDEX


def test_several_indexes_without_precedence_are_refused(give: Give) -> None:
    with pytest.raises(DatasetError, match="several files named index: a/index, b/index"):
        found_in(give({"x": "", "a/index": "", "b/index": ""}))


def test_folders_give_labels_and_the_order_mixes_them(give: Give) -> None:
    labels = [label for label, _ in found_in(give(FOLDERS))]
    assert sorted(labels) == [-1.0] * 50 + [1.0] * 50
    changes = sum(before != after for before, after in pairwise(labels))
    assert 30 < changes < 70


def test_the_order_depends_neither_on_the_container_nor_on_how_it_is_filled(tmp_path: Path) -> None:
    some, other = tmp_path / "some.tar", tmp_path / "other.tar"
    some.write_bytes(packed(FOLDERS))
    other.write_bytes(packed({path.removeprefix("corpus/"): text for path, text in reversed(FOLDERS.items())}))
    assert found_in(some) == found_in(other)


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("enron1/spam/1.txt", 1.0),
        ("enron1/ham/1.txt", -1.0),
        ("data/easy-ham-1/00192.txt", -1.0),
        ("hard_ham/1", -1.0),
        ("spam_2/1", 1.0),
        ("SPAM2/1", 1.0),
        ("not-spam/1", -1.0),
        ("nonspam/1", -1.0),
        ("spam/ham/1", -1.0),
        ("spamassassin/1", None),
        ("spam-and-ham/1", None),
        ("spam", None),
        ("spam/.hidden", None),
        ("spam/cmds", None),
        ("spam-1/00192.json", None),
    ],
)
def test_the_nearest_folder_named_after_a_class_gives_the_label(path: str, label: float | None) -> None:
    assert label_of_folder(path) == label


@pytest.mark.parametrize("files", [{}, {"readme.txt": "hello"}], ids=["empty", "unlabelled"])
def test_a_corpus_without_labels_is_refused(give: Give, files: Files) -> None:
    path = give(files)
    if not path.exists():
        path.mkdir()
    with pytest.raises(DatasetError, match="neither an index nor a folder named spam or ham"):
        found_in(path)


def test_an_unknown_label_stops_the_reading_after_the_mails_before_it(give: Give) -> None:
    batches = read(give({"index": "spam a\neggs a\nham a\n", "a": "x"}))
    assert len(next(batches)) == 1
    with pytest.raises(DatasetError, match=r":2: index: 'eggs' is not a label \(spam, ham, 1, -1 or 0\)"):
        next(batches)


def test_bad_lines_and_missing_mails_can_be_skipped(give: Give) -> None:
    skipped = SkippedLines()
    files = {"index": "spam a\neggs a\nham\nham none\nspam ../../etc/passwd\nham b\n", "a": "x", "b": "y"}
    found = found_in(give(files), on_error="skip", report=skipped)
    assert found == expected((1.0, "x"), (-1.0, "y"))
    assert [line for line, _ in skipped.first] == [2, 3, 5, 4]
    assert "leads out of the corpus" in skipped.first[2][1]
    assert "'none' is not in the" in skipped.first[3][1]


@pytest.mark.parametrize("compress", [bytes, lzma.compress])
@pytest.mark.parametrize("index_first", [True, False])
def test_a_truncated_archive_is_refused(tmp_path: Path, compress: Callable[[bytes], bytes], index_first: bool) -> None:
    files = {"full/index": INDEX, **{path: text * 40 for path, text in MAILS.items()}}
    content = packed(files if index_first else dict(reversed(files.items()))).rstrip(b"\0")
    path = tmp_path / "mails.tar"
    whole = compress(content)
    for length in range(1, len(whole) - 1, max(len(whole) // 50, 1)):
        path.write_bytes(whole[:length])
        with pytest.raises(DatasetError, match=r"mails.tar: (the compressed file is truncated|cannot be read)"):
            found_in(path)


@pytest.mark.parametrize("header", [{"GNU.sparse.size": "many"}, {"GNU.sparse.major": "x", "GNU.sparse.minor": "y"}])
def test_an_invalid_header_is_accepted_or_explained(tmp_path: Path, header: dict[str, str]) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("spam/1")
        info.pax_headers = {"GNU.sparse.name": "spam/1", **header}
        archive.addfile(info)
    path = tmp_path / "mails.tar"
    path.write_bytes(content.getvalue())
    try:
        assert len(found_in(path)) == 1
    except DatasetError as error:
        assert "cannot be read as a tar archive" in str(error)  # noqa: PT017 - either is right


def test_a_file_that_is_not_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mails.tar"
    path.write_text("hello " * 200)
    with pytest.raises(DatasetError, match="cannot be read as a tar archive"):
        found_in(path)


def test_an_archive_with_another_name_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "mails"
    path.write_bytes(packed(IN_ORDER))
    with pytest.raises(DatasetError, match="the file is a tar archive; if it holds mails, use --format mails"):
        found_in(path)
    assert found_in(path, format="mails") == BY_INDEX


def test_paths_and_links_that_lead_out_are_skipped(tmp_path: Path) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in ("../spam/out", "/spam/root"):
            archive.addfile(tarfile.TarInfo(name))
        link = tarfile.TarInfo("spam/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("ham/1"))
    path = tmp_path / "mails.tar"
    path.write_bytes(content.getvalue())
    assert [label for label, _ in found_in(path)] == [-1.0]


def test_a_link_out_of_a_folder_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "spam").mkdir()
    (tmp_path / "spam" / "1").write_text("x")
    (tmp_path / "spam" / "2").symlink_to("/etc/passwd")
    assert len(found_in(tmp_path)) == 1


def mails_of(path: Path, observer: Observer, spool_bytes: int) -> list[bytes]:
    with open_source(path) as source:
        return [mail.raw for mail in Archive(source, LineErrors(str(path)), observer, spool_bytes)]


def test_an_archive_in_the_order_of_its_index_is_not_spooled(tmp_path: Path) -> None:
    path = tmp_path / "mails.tar"
    path.write_bytes(packed(IN_ORDER))
    assert mails_of(path, Observer(), spool_bytes=0) == [text.encode() for text in MAILS.values()]


def test_the_spool_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "mails.tar"
    path.write_bytes(packed(dict(reversed(IN_ORDER.items()))))
    with pytest.raises(DatasetError, match=r"takes more than 99 bytes in .*; unpack the archive and pass the folder"):
        mails_of(path, Observer(), spool_bytes=99)


def test_spooling_is_announced_once_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "SPOOL_NOTICE_BYTES", 10)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / "mails.tar"
    path.write_bytes(packed(FOLDERS))
    said: list[str] = []
    assert len(mails_of(path, Observer(say=said.append), spool_bytes=1 << 20)) == 100
    assert len(said) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_mail_that_is_too_large_is_an_error(give: Give, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("archive", "folder"):
        monkeypatch.setattr(f"app.datasets.mails.{module}.LARGEST_MAIL_BYTES", 10)
    path = give({"index": "spam a\nham b\n", "a": "x" * 11, "b": "y"})
    with pytest.raises(DatasetError, match=":1: 'a' has more than 10 bytes"):
        found_in(path)
    assert len(found_in(path, on_error="skip")) == 1


def test_progress_ends_at_the_whole(give: Give) -> None:
    seen: list[tuple[int, int | None]] = []
    found_in(give(IN_ORDER), observer=Observer(lambda done, total: seen.append((done, total))))
    assert seen[-1][0] == seen[-1][1]


def test_names_are_those_of_the_features(give: Give) -> None:
    (batch,) = read(give(IN_ORDER))
    names = [batch.name_at(place) for place in range(batch.keys.size)]
    assert names == [name for text in MAILS.values() for name in features_of("email", text.encode()).example.names]
