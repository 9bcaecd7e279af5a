"""Servers and sockets that a killed service left behind on its data directory.

Nothing is ended unless it is known to be ours: a Valkey whose working folder is our folder. A process id in a file
proves nothing, since it may long belong to another process.
"""

import contextlib
import hashlib
import os
import signal
import socket
import stat
import tempfile
import time
from pathlib import Path
from typing import Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.storage.errors import StoreUnusable

LONGEST_SOCKET_PATH: Final = 100  # bytes; Linux takes 107, macOS 103, and longer ones are cut without a word
PATIENCE_SECONDS: Final = 5.0
PROCESSES: Final = Path("/proc")


def end_servers(folder: Path, listening: Path) -> None:
    """End every server that works in this folder or answers on this socket, gently first; then remove the socket."""
    if not _is_clear(folder, listening):
        _shut_down(folder, listening)
    if not _becomes_clear(folder, listening):
        _signal_all(folder, signal.SIGKILL)
    if not _becomes_clear(folder, listening):
        raise StoreUnusable(f"an old Valkey still uses {folder} (process ids {servers_in(folder)}) and does not end")
    remove_socket(listening)
    (folder.parent / "valkey.pid").unlink(missing_ok=True)


def servers_in(folder: Path) -> list[int]:
    """Process ids of the Valkey servers that work in this folder; none where there is no /proc to ask."""
    if not PROCESSES.is_dir():
        return []
    return [int(entry.name) for entry in PROCESSES.iterdir() if entry.name.isdigit() and _works_in(entry, folder)]


def socket_path(data_dir: Path) -> Path:
    """The socket of a data directory: inside it, or in a private folder if its path is too long for a socket."""
    path = data_dir / "valkey.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha1(os.fsencode(data_dir), usedforsecurity=False).hexdigest()[:16]
    for base in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - the folder inside is made private
        path = Path(base) / f"sluice-{os.getuid()}" / f"{name}.sock"
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
            _make_private(path.parent)
            return path
    raise StoreUnusable(f"{data_dir} is too long a path, and so is {base}: no socket fits")


def remove_socket(path: Path) -> None:
    """Remove a socket; anything else at its place is left alone, and refused."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise StoreUnusable(f"{path} is not a socket; move it away")
        path.unlink()
    except FileNotFoundError:
        pass


def client_of(listening: Path) -> "redis.Redis":
    """A client of the server on this socket; it asks once and waits a second."""
    return redis.Redis(
        unix_socket_path=str(listening), socket_timeout=1.0, retry=Retry(NoBackoff(), 0), protocol=2, driver_info=None
    )


def _works_in(process: Path, folder: Path) -> bool:
    try:
        program = (process / "exe").readlink().name
        return program.startswith("valkey-server") and (process / "cwd").samefile(folder)
    except OSError:  # gone meanwhile, a zombie, or of another user
        return False


def _is_clear(folder: Path, listening: Path) -> bool:
    return not servers_in(folder) and not _accepts(listening)


def _becomes_clear(folder: Path, listening: Path) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (clear := _is_clear(folder, listening)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return clear


def _accepts(listening: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(listening))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:  # a full queue, or the socket of another user: somebody may listen
            return True
        return True


def _shut_down(folder: Path, listening: Path) -> None:
    """Ask the server on the socket to write everything and end, once it has said that it is ours; or ask by signal."""
    if not _accepts(listening):
        _signal_all(folder, signal.SIGTERM)
        return
    try:
        with client_of(listening) as client:
            used = Path(os.fsdecode(client.config_get("dir")["dir"]))
            if not used.is_dir() or not used.samefile(folder):
                raise StoreUnusable(f"{listening} belongs to a server on {used}, not to one on {folder}")
            client.shutdown(nosave=True)  # the append-only file is flushed all the same
    except redis.RedisError:  # loading, hanging, or no Redis at all
        if not servers_in(folder):
            raise StoreUnusable(f"{listening} belongs to another program, which does not answer like ours") from None
        _signal_all(folder, signal.SIGTERM)


def _signal_all(folder: Path, number: signal.Signals) -> None:
    for process_id in servers_in(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process_id, number)


def _make_private(folder: Path) -> None:
    """Make a folder that nobody else can enter; one that somebody else has prepared is refused."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise StoreUnusable(f"{folder} must be a folder of mode 0700 that belongs to the user of this service")
