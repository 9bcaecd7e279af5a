"""Mails of a folder in the order of its index or, without one, in a fixed shuffled order."""

import os
from collections.abc import Iterator
from pathlib import Path

from app.datasets.errors import DatasetError, LineErrors
from app.datasets.mails.archive import NO_LABELS
from app.datasets.mails.labels import chosen_index, entries_of_folders, entries_of_index
from app.datasets.mails.mail import LARGEST_MAIL_BYTES, Entry, Mail


class Folder:
    """The mails of one folder."""

    def __init__(self, root: Path, errors: LineErrors) -> None:
        self._root, self._errors = root, errors

    def __iter__(self) -> Iterator[Mail]:
        """Yield each mail once, in order."""
        sizes = dict(_files(self._root))
        entries = self._entries(sizes)
        total = sum(sizes.get(entry.path, 0) for entry in entries)
        done = 0
        for entry in entries:
            size = sizes.get(entry.path)
            if size is None or size > LARGEST_MAIL_BYTES:
                if not self._errors.record(entry.number, _missing(entry, size)):
                    return
                continue
            done += size
            yield Mail(entry.label, (self._root / entry.path).read_bytes(), done, total)

    def _entries(self, sizes: dict[str, int]) -> list[Entry]:
        index = chosen_index(sizes, str(self._root))
        if index is None:
            entries = entries_of_folders(sizes)
        else:
            entries = entries_of_index((self._root / index).read_bytes(), index, self._errors)
        if index is None and not entries:
            raise DatasetError(str(self._root), NO_LABELS)
        return entries


def _files(root: Path) -> Iterator[tuple[str, int]]:
    """Yield the path and size of every file; skip links, so that none leads out of the folder."""
    for folder, _, names in os.walk(root, onerror=_refuse):
        for name in names:
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(root).as_posix(), path.stat().st_size


def _refuse(error: OSError) -> None:
    raise DatasetError(str(error.filename), error.strerror or str(error)) from error


def _missing(entry: Entry, size: int | None) -> str:
    if size is None:
        return f"{entry.path!r} is not in the folder"
    return f"{entry.path!r} has more than {LARGEST_MAIL_BYTES:,} bytes"
