"""Buffers mails that come before their turn in an unnamed temporary file, which no kind of exit leaves behind."""

import tempfile
from types import TracebackType
from typing import Self

from app.datasets.errors import DatasetError

LARGEST_SPOOL_BYTES = 4 << 30


class Spool:
    """Mails by path, limited in total size."""

    def __init__(self, name: str, limit: int = LARGEST_SPOOL_BYTES) -> None:
        self._name = name
        self._limit = limit
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._places: dict[str, tuple[int, int]] = {}
        self.bytes = 0

    def __enter__(self) -> Self:
        """Return the spool."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the file."""
        self._file.close()

    def __contains__(self, path: str) -> bool:
        """Whether a mail with this path is held."""
        return path in self._places

    @property
    def paths(self) -> list[str]:
        """The paths of all mails held."""
        return list(self._places)

    def put(self, path: str, content: bytes) -> None:
        """Store a mail; a later one with the same path replaces it, as when unpacking."""
        if self.bytes + len(content) > self._limit:
            raise DatasetError(
                self._name,
                f"its mails are not in learning order, and buffering them takes more than {self._limit:,} bytes in "
                f"{tempfile.gettempdir()}; unpack the archive and pass the folder",
            )
        self._file.seek(self.bytes)
        self._file.write(content)
        self._places[path] = (self.bytes, len(content))
        self.bytes += len(content)

    def get(self, path: str) -> bytes:
        """Return a mail."""
        start, size = self._places[path]
        self._file.seek(start)
        return self._file.read(size)
