"""Servers and sockets that a killed service left behind in its data directory.

Only a Valkey whose working directory is our folder is ended. A process id in a file proves nothing: it may belong to
another process by now.
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

LONGEST_SOCKET_PATH: Final = 100  # bytes; Linux takes 107, macOS 103, and longer ones are truncated silently
PATIENCE_SECONDS: Final = 5.0
PROCESSES: Final = Path("/proc")


def end_servers(folder: Path, listening: Path) -> None:
    """End every server in this folder or on this socket, first with a shutdown; then remove the socket."""
    if not _is_clear(folder, listening):
        _shut_down(folder, listening)
    if not _becomes_clear(folder, listening):
        _signal_all(folder, signal.SIGKILL)
    if not _becomes_clear(folder, listening):
        raise StoreUnusable(f"an old Valkey still uses {folder} (process ids {servers_in(folder)}) and does not end")
    remove_socket(listening)
    (folder.parent / "valkey.pid").unlink(missing_ok=True)


def servers_in(folder: Path) -> list[int]:
    """Return the process ids of the Valkey servers in this folder; none on systems without /proc."""
    if not PROCESSES.is_dir():
        return []
    return [int(entry.name) for entry in PROCESSES.iterdir() if entry.name.isdigit() and _works_in(entry, folder)]


def socket_path(data_dir: Path) -> Path:
    """Return the socket path of a data directory: inside it, or in a private folder if the path is too long."""
    path = data_dir / "valkey.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha1(os.fsencode(data_dir), usedforsecurity=False).hexdigest()[:16]
    for base in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - the folder inside is made private
        path = Path(base) / f"sluice-{os.getuid()}" / f"{name}.sock"
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
            _make_private(path.parent)
            return path
    raise StoreUnusable(f"{data_dir} is too long a path for a socket, and so is {base}")


def remove_socket(path: Path) -> None:
    """Remove a socket; raise StoreUnusable if the path is something else."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise StoreUnusable(f"{path} is not a socket; move it away")
        path.unlink()
    except FileNotFoundError:
        pass


def client_of(listening: Path) -> "redis.Redis":
    """Return a client of the server on this socket; it does not retry, and waits up to a second."""
    return redis.Redis(
        unix_socket_path=str(listening), socket_timeout=1.0, retry=Retry(NoBackoff(), 0), protocol=2, driver_info=None
    )


def _works_in(process: Path, folder: Path) -> bool:
    try:
        program = (process / "exe").readlink().name
        return program.startswith("valkey-server") and (process / "cwd").samefile(folder)
    except OSError:  # ended meanwhile, a zombie, or of another user
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
        except OSError:  # a full queue, or the socket of another user: a server may be listening
            return True
        return True


def _shut_down(folder: Path, listening: Path) -> None:
    """Shut down the server on the socket if it is ours; send SIGTERM if it does not accept commands."""
    if not _accepts(listening):
        _signal_all(folder, signal.SIGTERM)
        return
    try:
        with client_of(listening) as client:
            used = Path(os.fsdecode(client.config_get("dir")["dir"]))
            if not used.is_dir() or not used.samefile(folder):
                raise StoreUnusable(f"{listening} belongs to a server on {used}, not to one on {folder}")
            client.shutdown(nosave=True)  # the append-only file is flushed anyway
    except redis.RedisError:  # loading, hanging, or not a Redis
        if not servers_in(folder):
            raise StoreUnusable(f"{listening} belongs to another program") from None
        _signal_all(folder, signal.SIGTERM)


def _signal_all(folder: Path, number: signal.Signals) -> None:
    for process_id in servers_in(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process_id, number)


def _make_private(folder: Path) -> None:
    """Create a folder that only this user can enter; refuse one that another user has prepared."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise StoreUnusable(f"{folder} must be a folder of mode 0700 that belongs to the user of this service")
