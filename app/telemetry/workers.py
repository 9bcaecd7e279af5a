"""The workers of one service: each has a place of its own, and whoever is asked for metrics asks the others.

A port that several processes share gives a request to any of them. So each worker also listens on a Unix socket in a
folder that only they know, and answers there with its own metrics.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

FOLDER: Final = "_SLUICE_WORKERS_FOLDER"  # by this variable the service tells its workers; no setting
ANSWER_SECONDS: Final = 1.0
CLAIM_SECONDS: Final = 3.0
WAIT_SECONDS: Final = 0.05

Page = Callable[[], Awaitable[bytes]]


class Siblings:
    """A worker's place among the workers of its service."""

    def __init__(self, folder: Path | None, places: int) -> None:
        self.places = places
        self.folder = folder  # None: there are no others
        self._lock: int | None = None
        self._server: asyncio.Server | None = None
        self.place = 0 if folder is None else self._claimed(folder)

    @classmethod
    def of_environment(cls, places: int) -> "Siblings":
        """Those of the service that has started this process."""
        folder = os.environ.get(FOLDER)
        return cls(Path(folder) if folder and places > 1 else None, places)

    async def listen(self, page: Page) -> None:
        """Answer the others from now on."""
        if self.folder is None:
            return
        path = self._socket(self.place)
        path.unlink(missing_ok=True)  # of one who was killed: the place is ours

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                writer.write(await page())
                await writer.drain()
            writer.close()

        self._server = await asyncio.start_unix_server(answer, path)

    async def ask(self) -> Sequence[bytes]:
        """What the others answer; one who does not answer soon is left out."""
        if self.folder is None:
            return []
        others = [place for place in range(self.places) if place != self.place]
        answers = await asyncio.gather(*(self._ask(place) for place in others))
        return [answer for answer in answers if answer]

    def close(self) -> None:
        """Give the place back."""
        if self._server is not None:
            self._server.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def _ask(self, place: int) -> bytes:
        try:
            return await asyncio.wait_for(self._read(place), ANSWER_SECONDS)
        except (OSError, TimeoutError):
            return b""

    async def _read(self, place: int) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self._socket(place))
        try:
            return await reader.read()
        finally:
            writer.close()

    def _socket(self, place: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{place}.sock"

    def _claimed(self, folder: Path) -> int:
        """The first place that nobody has. One who dies leaves it at once: a lock does not outlive its process."""
        end = time.monotonic() + CLAIM_SECONDS
        while time.monotonic() < end:
            for place in range(self.places):
                lock = os.open(folder / f"{place}.lock", os.O_CREAT | os.O_RDWR, 0o600)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    os.close(lock)
                    continue
                self._lock = lock
                return place
            time.sleep(WAIT_SECONDS)  # a predecessor is about to leave
        return os.getpid()  # alone, but with a name of its own
