import bz2
import gzip
import lzma
import os
import sys
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

import pytest

from app.datasets.errors import DatasetError
from app.datasets.reader import read
from app.datasets.source import Observer

from .conftest import Write
from .oracle import examples

TEXT = b"".join(b"1 %d:%d\n-1 7:0.5\n" % (k, k) for k in range(1, 2000))
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
OPEN_FILES = Path("/proc/self/fd")

each_compression = pytest.mark.parametrize("suffix", COMPRESSIONS)


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileIO]:
    """Make standard input a pipe and return its other end."""

    reading, writing = os.pipe()
    with os.fdopen(reading) as file, FileIO(writing, "wb") as pipe:
        monkeypatch.setattr(sys, "stdin", file)
        yield pipe


@each_compression
def test_compressed_files_are_detected_by_content(write: Write, suffix: str) -> None:
    plain = examples(read(write(TEXT)))
    compressed = COMPRESSIONS[suffix](TEXT)
    assert examples(read(write(compressed, f"data.svm{suffix}"))) == plain
    assert examples(read(write(compressed, "misnamed"))) == plain


@each_compression
def test_concatenated_compressed_streams_are_read_as_one(write: Write, suffix: str) -> None:
    compress = COMPRESSIONS[suffix]
    path = write(compress(b"1 1:1\n-1 ") + compress(b"2:1\n"), f"data.svm{suffix}")
    assert examples(read(path)) == [(1.0, [("1", 1.0)]), (-1.0, [("2", 1.0)])]


@each_compression
@pytest.mark.parametrize("kept", [0.2, 0.9])
def test_a_truncated_file_is_named(write: Write, suffix: str, kept: float) -> None:
    compressed = COMPRESSIONS[suffix](TEXT)
    path = write(compressed[: int(kept * len(compressed))], f"data.svm{suffix}")
    with pytest.raises(DatasetError, match=f"data.svm{suffix}: the compressed file is truncated"):
        list(read(path))


@each_compression
def test_a_damaged_file_is_named(write: Write, suffix: str) -> None:
    compressed = bytearray(COMPRESSIONS[suffix](TEXT))
    compressed[len(compressed) // 2] ^= 0xFF
    with pytest.raises(DatasetError, match=f"data.svm{suffix}: cannot be read: "):
        list(read(write(bytes(compressed), f"data.svm{suffix}")))


def test_other_compressions_are_refused_by_name(write: Write) -> None:
    with pytest.raises(DatasetError, match=r"data.svm: zstd compression is not supported"):
        list(read(write(b"\x28\xb5\x2f\xfd....")))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"absent.svm: No such file"):
        list(read(tmp_path / "absent.svm"))
    with pytest.raises(DatasetError, match="Is a directory"):
        list(read(tmp_path, format="libsvm"))


@pytest.mark.parametrize("compress", [bytes, *COMPRESSIONS.values()])
def test_a_pipe_is_read_like_a_file(write: Write, pipe: FileIO, compress: Callable[[bytes], bytes]) -> None:
    pipe.write(compress(TEXT))
    pipe.close()
    assert examples(read("-")) == examples(read(write(TEXT)))


def test_an_error_in_a_pipe_names_standard_input(pipe: FileIO) -> None:
    pipe.write(b"1 1:1\n1 x\n")
    pipe.close()
    with pytest.raises(DatasetError, match="standard input:2: 'x' is not index:value"):
        list(read("-"))


def test_a_live_stream_is_read_without_waiting_for_a_full_block(pipe: FileIO) -> None:
    batches = read("-")
    for k in range(3):
        pipe.write(b"1 %d:1\n" % k)
        assert examples([next(batches)]) == [(1.0, [(str(k), 1.0)])]
    pipe.close()
    assert list(batches) == []


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
def test_progress_is_counted_in_bytes_of_the_file(write: Write, suffix: str) -> None:
    path = write(COMPRESSIONS.get(suffix, bytes)(TEXT), f"data.svm{suffix}")
    seen: list[tuple[int, int | None]] = []
    list(read(path, block_bytes=4096, observer=Observer(lambda done, total: seen.append((done, total)))))
    size = path.stat().st_size
    assert seen == sorted(seen)
    assert len(seen) > 2
    assert seen[-1] == (size, size)


def test_the_length_of_a_pipe_is_unknown(pipe: FileIO) -> None:
    pipe.write(b"1 1:1\n")
    pipe.close()
    seen: list[tuple[int, int | None]] = []
    list(read("-", observer=Observer(lambda done, total: seen.append((done, total)))))
    assert seen == [(6, None)]


@pytest.mark.skipif(not OPEN_FILES.exists(), reason="this system does not list the open files")
def test_the_file_is_closed_when_reading_is_abandoned(write: Write) -> None:
    path = write(TEXT)
    before = len(list(OPEN_FILES.iterdir()))
    batches = read(path, batch_examples=1)
    next(batches)
    assert len(list(OPEN_FILES.iterdir())) == before + 1
    del batches
    assert len(list(OPEN_FILES.iterdir())) == before
