"""Files and standard input as streams of bytes. Compression is detected by magic bytes, not by file name."""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from app.datasets.errors import DatasetError

STDIN = "-"
Progress = Callable[[int, int | None], None]
OPENERS: dict[bytes, Callable[[io.BufferedIOBase], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7zXZ\0": lambda file: lzma.LZMAFile(cast("IO[bytes]", file)),  # noqa: SIM115 - the caller closes it
    b"BZh": lambda file: bz2.BZ2File(cast("IO[bytes]", file)),
}
REFUSED = {b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip", b"\x04\x22\x4d\x18": "lz4"}
LONGEST_MAGIC = 6
DAMAGED = (zlib.error, lzma.LZMAError, OSError)  # bz2 and gzip raise OSError


class CountingFile(io.RawIOBase):
    """A file that counts the bytes read, and knows its size unless it is a pipe."""

    def __init__(self, file: io.RawIOBase) -> None:
        self._file = file
        self.consumed = 0
        status = os.fstat(file.fileno())
        self.total = status.st_size if stat.S_ISREG(status.st_mode) else None

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: object, /) -> int | None:
        """Read some bytes and count them."""
        count = cast("int | None", self._file.readinto(cast("bytearray", buffer)))
        self.consumed += count or 0
        return count


@dataclass(frozen=True, slots=True)
class Observer:
    """Callbacks while a dataset is read: `progress(bytes_read, bytes_total)`, often; `say(sentence)`, rarely."""

    progress: Progress = lambda _done, _total: None
    say: Callable[[str], None] = lambda _sentence: None


@dataclass(frozen=True, slots=True)
class Source:
    """An open dataset: its name for messages, its decompressed bytes, and the read position in the file."""

    name: str
    stream: io.BufferedIOBase
    file: CountingFile

    @property
    def consumed(self) -> int:
        """Bytes read from the file."""
        return self.file.consumed

    @property
    def total(self) -> int | None:
        """Size of the file in bytes; None for a pipe."""
        return self.file.total

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes, b"" at the end. A pipe returns what it has: a live stream must not wait."""
        try:
            return self.stream.read1(size) if self.total is None else self.stream.read(size)
        except EOFError as error:
            raise DatasetError(self.name, "the compressed file is truncated") from error
        except DAMAGED as error:
            raise DatasetError(self.name, f"cannot be read: {error}") from error


def name_of(path: str | Path) -> str:
    """Return the name of a dataset for messages."""
    return "standard input" if path == STDIN else str(path)


@contextmanager
def open_source(path: str | Path) -> Iterator[Source]:
    """Open a file, or standard input for "-"."""
    name = name_of(path)
    with ExitStack() as stack:
        try:
            file = CountingFile(stack.enter_context(_open_raw(path)))
            buffered = stack.enter_context(io.BufferedReader(file))
            magic = buffered.peek(LONGEST_MAGIC)[:LONGEST_MAGIC]
        except OSError as error:
            raise DatasetError(name, error.strerror or str(error)) from error
        yield Source(name, stack.enter_context(_decompressed(buffered, magic, name)), file)


def _open_raw(path: str | Path) -> io.FileIO:
    if path == STDIN:
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    return io.FileIO(path)


def _decompressed(file: io.BufferedIOBase, magic: bytes, name: str) -> io.BufferedIOBase:
    for start, method in REFUSED.items():
        if magic.startswith(start):
            raise DatasetError(name, f"{method} compression is not supported; decompress the file into a pipe")
    for start, opener in OPENERS.items():
        if magic.startswith(start):
            return opener(file)
    return file
