"""Mails that come before their turn, kept aside in one temporary file without a name: it is gone however we end."""

import tempfile
from types import TracebackType
from typing import Self

from app.datasets.errors import DatasetError

LARGEST_SPOOL_BYTES = 4 << 30


class Spool:
    """Contents by their paths; limited in size."""

    def __init__(self, name: str, limit: int = LARGEST_SPOOL_BYTES) -> None:
        self._name = name
        self._limit = limit
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the spool is left
        self._places: dict[str, tuple[int, int]] = {}
        self.bytes = 0

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the space back."""
        self._file.close()

    def __contains__(self, path: str) -> bool:
        """Whether there is a mail of this path."""
        return path in self._places

    @property
    def paths(self) -> list[str]:
        """All that have been put in."""
        return list(self._places)

    def put(self, path: str, content: bytes) -> None:
        """Keep a mail; of two with one path the later one counts, as when unpacking."""
        if self.bytes + len(content) > self._limit:
            raise DatasetError(
                self._name,
                f"its mails are not in the order in which they are learnt, and more than {self._limit:,} bytes would "
                f"have to be kept aside in {tempfile.gettempdir()}; unpack it and give the folder",
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
