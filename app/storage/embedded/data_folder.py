"""Checks that the data of an embedded Valkey is there: without its manifest, Valkey starts empty and overwrites it."""

from pathlib import Path
from typing import Final

from app.storage.errors import StoreUnusable

FOLDER: Final = Path("valkey", "appendonlydir")
MANIFEST: Final = "appendonly.aof.manifest"
MARKER: Final = "valkey.used"
MARKER_TEXT: Final = (
    "The embedded Valkey has stored data in this directory. While this file exists, it does not start without its "
    "append-only files. See docs/operations.md.\n"
)
EMPTY_BASE_BYTES: Final = 128  # a base file without any key is smaller, one with a key of Sluice is larger


def check_data(data_dir: Path) -> None:
    """Return if Valkey can start here: for the first time, or with all its files; else raise StoreUnusable."""
    folder = data_dir / FOLDER
    if (folder / MANIFEST).is_file():
        missing = [name for name in _listed(folder / MANIFEST) if not (folder / name).is_file()]
    elif not (data_dir / MARKER).exists() and not any(map(_has_data, folder.glob("appendonly.aof.*"))):
        return  # the first start, also if an earlier one was interrupted before Valkey wrote its manifest
    else:
        missing = [MANIFEST]
    if missing:
        raise StoreUnusable(
            f"{folder} has lost {', '.join(missing)}, without which the embedded Valkey would start empty. Restore the "
            f"folder from a backup. To start afresh, without the old data, delete {data_dir / FOLDER.parent} and "
            f"{data_dir / MARKER}"
        )


def mark_as_used(data_dir: Path) -> None:
    """Note that this directory has data from now on."""
    marker = data_dir / MARKER
    if not marker.exists():
        marker.write_text(MARKER_TEXT, encoding="utf-8")


def _listed(manifest: Path) -> list[str]:
    """Return the files that the manifest needs. Its lines are `file NAME seq NUMBER type b|i|h`; h is history."""
    lines = [line.split() for line in manifest.read_text(encoding="utf-8", errors="replace").splitlines()]
    return [words[1] for words in lines if words[:1] == ["file"] and words[-1:] in (["b"], ["i"])]


def _has_data(file: Path) -> bool:
    return file.stat().st_size > (EMPTY_BASE_BYTES if ".base." in file.name else 0)
