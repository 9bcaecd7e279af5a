"""The files of a tar archive in the order of the archive; nothing is unpacked under its own name."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Self, cast

from app.datasets.errors import DatasetError
from app.datasets.mails.labels import normalise_path
from app.datasets.source import Source

LARGEST_HEADER_BYTES = 1 << 20
DAMAGED = (tarfile.TarError, ValueError, OverflowError)  # numbers in headers are read by int()
HEADER_TYPES = (  # their content is read into memory
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class _StrictInfo(tarfile.TarInfo):
    """A strict header: `tarfile` itself takes a damaged one for the end of the archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        info = super().frombuf(buf, encoding, errors)
        if info.type in HEADER_TYPES and info.size > LARGEST_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {info.size:,} bytes is too large")
        return info

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # the zeros at the end
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"the archive is truncated or damaged ({error})") from error


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the archive; read its content before advancing to the next one."""

    path: str
    size: int
    archive: tarfile.TarFile
    info: tarfile.TarInfo
    archive_name: str

    def read(self) -> bytes:
        """Return the content."""
        with _dataset_errors(self.archive_name):
            file = self.archive.extractfile(self.info)
            assert file is not None
            with file:
                return file.read()


def members(source: Source) -> Iterator[Member]:
    """Yield the regular files; skip those whose path leads out of the archive."""
    with (
        _dataset_errors(source.name),
        tarfile.open(fileobj=cast("IO[bytes]", source), mode="r|", tarinfo=_StrictInfo) as archive,
    ):
        while info := archive.next():
            archive.members = []  # type: ignore[attr-defined]  # else it keeps every header
            path = normalise_path(info.name)
            if info.isreg() and path is not None:
                yield Member(path, info.size, archive, info, source.name)


@contextmanager
def _dataset_errors(name: str) -> Iterator[None]:
    """Turn errors of `tarfile` into a DatasetError that names the archive."""
    try:
        yield
    except DAMAGED as error:
        raise DatasetError(name, f"cannot be read as a tar archive: {error}") from error
