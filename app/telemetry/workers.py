"""The workers of one service: each has an index of its own, and the one that serves /metrics collects from the others.

Processes that share a port cannot choose which of them serves a request. So each worker also listens on a Unix socket
in a folder that only the workers know, and serves its own metrics there.
"""

import asyncio
import fcntl
import multiprocessing
import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

FOLDER: Final = "_SLUICE_WORKERS_FOLDER"  # environment variable from the parent to its workers; not a setting
ANSWER_SECONDS: Final = 1.0
CLAIM_SECONDS: Final = 3.0
WAIT_SECONDS: Final = 0.05

Page = Callable[[], Awaitable[bytes]]


class WorkerGroup:
    """The workers of a service, as seen by one of them."""

    def __init__(self, folder: Path | None, size: int) -> None:
        self.size = size
        self.folder = folder  # None: this is the only worker
        self._lock: int | None = None
        self._server: asyncio.Server | None = None
        self.index = 0 if folder is None else self._claim(folder)

    @classmethod
    def of_environment(cls, size: int) -> "WorkerGroup":
        """Return the group of the service that started this process."""
        folder = os.environ.get(FOLDER)
        return cls(Path(folder) if folder and size > 1 else None, size)

    async def listen(self, page: Page) -> None:
        """Start to serve this worker's metrics to the others."""
        if self.folder is None:
            return
        path = self._socket(self.index)
        path.unlink(missing_ok=True)  # left by a worker that was killed: the index is ours now

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                writer.write(await page())
                await writer.drain()
            writer.close()

        self._server = await asyncio.start_unix_server(answer, path)

    async def collect(self) -> Sequence[bytes]:
        """Return the pages of the other workers, without those that do not answer in time."""
        if self.folder is None:
            return []
        others = [index for index in range(self.size) if index != self.index]
        pages = await asyncio.gather(*(self._page_of(index) for index in others))
        return [page for page in pages if page]

    def close(self) -> None:
        """Stop serving, and release the index."""
        if self._server is not None:
            self._server.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def _page_of(self, index: int) -> bytes:
        try:
            return await asyncio.wait_for(self._read(index), ANSWER_SECONDS)
        except (OSError, TimeoutError):
            return b""

    async def _read(self, index: int) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self._socket(index))
        try:
            return await reader.read()
        finally:
            writer.close()

    def _socket(self, index: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{index}.sock"

    def _claim(self, folder: Path) -> int:
        """Lock the first free index. The lock of a worker that dies is free at once."""
        end = time.monotonic() + CLAIM_SECONDS
        while time.monotonic() < end:
            for index in range(self.size):
                lock = os.open(folder / f"{index}.lock", os.O_CREAT | os.O_RDWR, 0o600)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    os.close(lock)
                    continue
                self._lock = lock
                return index
            time.sleep(WAIT_SECONDS)  # the worker that this one replaces is about to end
        return os.getpid()  # unique, though no other worker collects from it


async def exit_with_parent() -> None:
    """End this worker when its parent was killed: it must not keep the port."""
    parent = multiprocessing.parent_process()
    while parent is not None:
        await asyncio.sleep(1.0)
        if not parent.is_alive():
            os.kill(os.getpid(), signal.SIGTERM)
            return
