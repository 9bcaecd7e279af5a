"""Writing a file so that a crash leaves the old one or the new one, never half of one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.learning.errors import BadSetting


@contextmanager
def written_aside(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place under `path` when all went well."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def refuse_missing_folder(path: Path) -> None:
    """Say so before the work, not after it."""
    if not path.absolute().parent.is_dir():
        raise BadSetting(f"{path} cannot be written: there is no folder {path.parent}")
