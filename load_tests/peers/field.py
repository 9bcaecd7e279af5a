"""Those who run: started together, asked in turns, and all ended, whatever happens. A peer that fails is out."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from load_tests.peers.client.jobs import Done, Job, Request
from load_tests.peers.client.process import done
from load_tests.peers.contenders.contender import Contender, Group, Place
from load_tests.peers.telling import say

FAILURES = (OSError, subprocess.SubprocessError)  # a TimeoutError is an OSError
SETTLE_SECONDS = 1.0  # after Sluice has learnt: a snapshot may be due, which must not take the next one's time
OWN = (Group.LIMIT, Group.OURS)


class Field:
    """The contenders of one stream or load; `failed` says of those who are out why."""

    def __init__(self, folder: Path, contenders: Sequence[Contender], connections: int) -> None:
        self._folder = folder
        self._all = contenders
        self._connections = connections
        self._places: dict[str, Place] = {}
        self._stack = ExitStack()
        self.failed: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Start everyone who can be started."""
        try:
            for number, contender in enumerate(self._all):
                self._start(contender, self._folder / str(number))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End everyone."""
        self._stack.close()

    def turn(self, number: int) -> Iterator[Contender]:
        """Everyone who still runs, with another one first in every turn."""
        first = number % len(self._all)
        for contender in [*self._all[first:], *self._all[:first]]:
            if contender.name in self._places:
                yield contender

    def ask(self, contender: Contender, requests: list[Request], seconds: float = 0.0) -> Done | None:
        """Let a client ask; None if the contender has failed, which ends the benchmark if it is one of ours."""
        place = self._places[contender.name]
        job = Job(
            wire=contender.wire,
            reading=contender.reading,
            requests=requests,
            port=place.port,
            folder=place.folder,
            connections=self._connections if seconds else 1,
            seconds=seconds,
        )
        try:
            found = _done(job, contender.name)
        except FAILURES as error:
            self._fail(contender, error)
            return None
        if contender.group is Group.OURS:
            time.sleep(SETTLE_SECONDS)
        return found

    def _start(self, contender: Contender, folder: Path) -> None:
        if reason := contender.absent():
            self.failed[contender.name] = reason
            say(f"without {contender.name}: {reason}")
            return
        say(f"starting {contender.name}")
        folder.mkdir(parents=True)
        try:
            self._places[contender.name] = self._stack.enter_context(contender.served(folder, self._connections))
        except FAILURES as error:
            self._fail(contender, error)

    def _fail(self, contender: Contender, error: Exception) -> None:
        if contender.group in OWN:
            raise error
        self._places.pop(contender.name, None)
        self.failed[contender.name] = f"it failed: {error}"
        say(f"{contender.name} is out: {error}")


def _done(job: Job, name: str) -> Done:
    """A load is tried twice: a connection may be lost while all cores are busy. A stream is learnt only once."""
    try:
        return done(job)
    except FAILURES as error:
        if not job.seconds:
            raise
        say(f"{name} is asked once more: {error}")
    return done(job)
