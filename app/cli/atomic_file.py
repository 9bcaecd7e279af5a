"""Writes a file so that a crash leaves the old one or the new one, never half of one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.learning.errors import BadSetting


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file for writing, and rename it to `path` when the block succeeds."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def require_folder_of(path: Path) -> None:
    """Refuse a path whose folder does not exist: before the work, not after it."""
    if not path.absolute().parent.is_dir():
        raise BadSetting(f"{path} cannot be written: there is no folder {path.parent}")
