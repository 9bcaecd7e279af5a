"""The append-only file of the embedded Valkey: what is missing at its end, and where it is damaged.

Valkey could cut off an incomplete end by itself, but silently, and a changed length in the middle looks like an
incomplete end: everything behind it would be gone. So Valkey refuses such a file, and this module decides. It cuts off
one incomplete write, which was never acknowledged, and keeps its bytes. Anything else is left to `sluice repair
--store`. While the server runs, the size of the file is noted every half second: a file that is shorter at the next
start has lost acknowledged writes.
"""

import hashlib
import json
import logging
import mmap
import os
import re
import shutil
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

FOLDER: Final = "appendonlydir"
MANIFEST: Final = "appendonly.aof.manifest"
NOTED: Final = "size.json"  # the size of the file when the server was last seen
NOTES: Final = "notes.json"  # what was announced at the last start
NOTES_FOLDER: Final = "_SLUICE_STORE_FOLDER"  # environment variable from the parent to its workers; not a setting
INCREMENT: Final = re.compile(r"^file (\S+) seq \d+ .*type i", re.MULTILINE)
HEAD: Final = re.compile(rb"([*$])(\d{1,10})\r\n")
LONGEST_HEAD: Final = 16
TRUNCATED: Final = "Unexpected end of file reading the append only file"
REFUSALS: Final = (TRUNCATED, "Bad file format reading the append only file", "Error reading the append only file")
UNKNOWN_COMMAND: Final = re.compile(r"unknown command '([^']*)'")
LOG_ENTRY: Final = re.compile(rb"\$4\r\nXADD\r\n\$\d+\r\nsluice:\{s[0-9a-f]{2}\}:([^\r\n]{1,128}):log\r\n")
MULTI, EXEC = b"MULTI", b"EXEC"
EXECUTED: Final = b"*1\r\n$4\r\nEXEC\r\n"

logger = logging.getLogger("sluice.storage")


@dataclass(frozen=True, slots=True)
class Scan:
    """How much of a file is valid, in bytes; `labels` counts the log entries of each tenant behind that."""

    path: Path
    size: int
    valid: int
    labels: dict[str, int]
    is_one_write: bool  # everything behind is one incomplete write

    @property
    def rest(self) -> int:
        """The bytes behind the valid part."""
        return self.size - self.valid

    def __str__(self) -> str:
        """Say what would be lost with the rest."""
        entries = sum(self.labels.values())
        some = ", ".join(f"{name} {count:,}" for name, count in sorted(self.labels.items())[:10])
        return (
            f"{self.path} is valid up to byte {self.valid:,} of {self.size:,}; the other {self.rest:,} bytes have "
            f"{entries:,} log entries" + (f" ({some})" if some else "")
        )


def increments(folder: Path) -> list[Path]:
    """Return the files to which Valkey has appended, the newest last, as its manifest lists them."""
    try:
        manifest = (folder / FOLDER / MANIFEST).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    paths = [folder / FOLDER / Path(name).name for name in INCREMENT.findall(manifest)]
    return [path for path in paths if path.is_file()]


def scan(path: Path, bad_command: str | None = None) -> Scan:
    """Find the end of the last complete write, outside of a transaction that has not ended."""
    size = path.stat().st_size
    if size == 0:
        return Scan(path, 0, 0, {}, is_one_write=False)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        valid = _valid_bytes(data, size, bad_command.encode().lower() if bad_command else None)
        labels = Counter(match[1].decode(errors="replace") for match in LOG_ENTRY.finditer(data, valid))
        is_one_write = valid < size and data.find(EXECUTED, valid) < 0
    return Scan(path, size, valid, dict(labels), is_one_write)


def _valid_bytes(data: mmap.mmap, size: int, bad_command: bytes | None) -> int:
    at = valid = 0
    in_transaction = False
    while at < size:
        end, name = _command(data, at, size)
        if end is None or (bad_command is not None and name.lower() == bad_command):
            return valid
        in_transaction = (in_transaction or name.upper() == MULTI) and name.upper() != EXEC
        at = end
        if not in_transaction:
            valid = at
    return valid


def _command(data: mmap.mmap, at: int, size: int) -> tuple[int | None, bytes]:
    """Return where a command ends, and its name; None if it is invalid or incomplete."""
    if data[at : at + 1] == b"#":  # an annotation
        end = data.find(b"\r\n", at)
        return (end + 2 if end >= 0 else None), b""
    head = HEAD.match(data[at : at + LONGEST_HEAD])
    if head is None or head[1] != b"*" or int(head[2]) == 0:
        return None, b""
    at, name = at + head.end(), b""
    for index in range(int(head[2])):
        length = HEAD.match(data[at : at + LONGEST_HEAD])
        if length is None or length[1] != b"$":
            return None, name
        begin = at + length.end()
        at = begin + int(length[2]) + 2
        if at > size or data[at - 2 : at] != b"\r\n":
            return None, name
        if index == 0:
            name = data[begin : at - 2]
    return at, name


def note_size(folder: Path) -> None:
    """Note the size of the newest file, if it has changed."""
    with suppress(OSError):  # the server has removed the file in this moment
        files = increments(folder)
        seen = {"file": files[-1].name, "bytes": files[-1].stat().st_size} if files else {}
        noted = _read_json(folder / NOTED)
        if {name: noted.get(name) for name in seen} != seen:
            _write_json(folder / NOTED, {**seen, "at": time.time()})


def missing_bytes(folder: Path) -> str | None:
    """Say what the newest file has lost since its size was noted; None if nothing."""
    files, noted = increments(folder), _read_json(folder / NOTED)
    before, noted_at = noted.get("bytes"), noted.get("at")
    if (
        not files
        or noted.get("file") != files[-1].name
        or not isinstance(before, int)
        or not isinstance(noted_at, float)
    ):
        return None
    if (size := files[-1].stat().st_size) >= before:
        return None
    at = datetime.fromtimestamp(noted_at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"the append-only file {files[-1]} has lost its last {before - size:,} bytes: it had {before:,} at {at} UTC. "
        "Labels that were acknowledged are missing; restore the file from a backup if there is one"
    )


def cut_incomplete_write(folder: Path, rescued: Path, refusal: str) -> str | None:
    """If Valkey refuses the file because of one incomplete write, cut that off and say so; else return None."""
    files = increments(folder)
    if TRUNCATED not in refusal or not files or files[-1].name not in refusal:
        return None
    found = scan(files[-1])
    if not found.is_one_write:
        return None
    copy = cut(found, rescued)
    return (
        f"the append-only file {found.path} ended in the middle of a write: its last {found.rest:,} bytes were cut "
        f"off, and are in {copy}. A crash explains this; an incomplete write was never acknowledged"
    )


def advice(folder: Path, refusal: str) -> str:
    """Say what to do about a file that Valkey refuses; nothing if that is not the reason."""
    if not any(each in refusal for each in REFUSALS):
        return ""
    found = damage(folder, refusal)
    if found is None:  # in an older file, or at a place that cannot be told
        return " Restore the data directory from a backup."
    return (
        f" {found}. Restore the data directory from a backup, or cut off these bytes, which keeps a copy of them: "
        "sluice repair --store --apply"
    )


def damage(folder: Path, refusal: str) -> Scan | None:
    """Return the scan of the newest file if that is what Valkey refuses; None if the damage is elsewhere."""
    files = increments(folder)
    if not files or files[-1].name not in refusal:
        return None
    unknown = UNKNOWN_COMMAND.search(refusal)
    found = scan(files[-1], unknown[1] if unknown else None)
    return found if found.rest else None


def cut(found: Scan, rescued: Path) -> Path:
    """Cut off everything behind the valid part, after a copy of it is on the disk; return the copy."""
    rescued.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    copy = rescued / f"{found.path.name}-from-{found.valid}-{now}.cut"
    with found.path.open("rb") as file:
        file.seek(found.valid)
        with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as kept:
            shutil.copyfileobj(file, kept)
            kept.flush()
            os.fsync(kept.fileno())
        file.seek(found.valid)
        with copy.open("rb") as kept:
            if hashlib.file_digest(file, "sha256").digest() != hashlib.file_digest(kept, "sha256").digest():
                raise OSError(f"the copy {copy} differs from what was written to it; nothing was cut off")
    with found.path.open("r+b") as file:
        file.truncate(found.valid)
        os.fsync(file.fileno())
    return copy


def write_notes(folder: Path, notes: list[str]) -> None:
    """Keep what was announced at the start, for /readyz of every worker."""
    _write_json(folder / NOTES, {"notes": notes})


def read_notes() -> list[str]:
    """Return what the parent of this worker has announced about its embedded Valkey."""
    folder = os.environ.get(NOTES_FOLDER)
    notes = _read_json(Path(folder) / NOTES).get("notes", []) if folder else []
    return [str(note) for note in notes] if isinstance(notes, list) else []


def _read_json(path: Path) -> dict[str, object]:
    try:
        read = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _write_json(path: Path, value: dict[str, object]) -> None:
    """Write a note. It only serves announcements, so a full disk must not stop the server."""
    aside = path.with_suffix(".aside")
    try:
        aside.write_text(json.dumps(value), encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        logger.warning("%s cannot be written: %s", path, error)
