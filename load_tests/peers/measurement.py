"""All contenders run at the same time and take turns: on streams over one connection, then on loads over many."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from kernels.arrays import Floats
from load_tests.harness.client import run
from load_tests.harness.jobs import ClosedLoop, Done, Request, percentiles
from load_tests.harness.report import say
from load_tests.harness.sizes import BATCH, Sizes
from load_tests.peers.contenders import LEARN, PREDICT, Contender, Group, Place
from load_tests.peers.examples import Example
from load_tests.peers.results import CONNECTIONS, Loaded, Played, judged

FAILURES = (OSError, subprocess.SubprocessError)  # a TimeoutError is an OSError
SETTLE_SECONDS = 1.0  # after Sluice has learnt: a snapshot may be due, which must not slow the next contender


class Field:
    """The running contenders of one stream or load; `failed` says why others are out."""

    def __init__(self, folder: Path, contenders: Sequence[Contender], connections: int) -> None:
        self._folder = folder
        self._all = contenders
        self._connections = connections
        self._places: dict[str, Place] = {}
        self._stack = ExitStack()
        self.failed: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Start all that can be started."""
        try:
            for number, contender in enumerate(self._all):
                self._start(contender, self._folder / str(number))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End all."""
        self._stack.close()

    def turn(self, number: int) -> Iterator[Contender]:
        """All that still run, with another one first in every turn."""
        first = number % len(self._all)
        for contender in [*self._all[first:], *self._all[:first]]:
            if contender.name in self._places:
                yield contender

    def ask(self, contender: Contender, requests: list[Request], seconds: float = 0.0) -> Done | None:
        """Send requests; None if the contender has failed, which ends the benchmark if it is one of ours."""
        place = self._places[contender.name]
        job = ClosedLoop(
            wire=contender.wire,
            verdict=contender.verdict,
            requests=requests,
            port=place.port,
            folder=place.folder,
            connections=self._connections if seconds else 1,
            seconds=seconds,
            marks=0,
        )
        try:
            found = self._run(job, contender.name)
        except FAILURES as error:
            self._fail(contender, error)
            return None
        if contender.group is Group.OURS:
            time.sleep(SETTLE_SECONDS)
        return found

    def _run(self, job: ClosedLoop, name: str) -> Done:
        """A load is tried twice: a connection may be lost while all cores are busy. A stream is learnt only once."""
        try:
            return run(job)
        except FAILURES as error:
            if not job.seconds:
                raise
            say(f"{name} is tried once more: {error}")
        return run(job)

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
        if contender.group in {Group.LIMIT, Group.OURS}:
            raise error
        self._places.pop(contender.name, None)
        self.failed[contender.name] = f"it failed: {error}"
        say(f"{contender.name} is out: {error}")


def play(
    folder: Path, contenders: Sequence[Contender], examples: Sequence[Example], turn: int
) -> tuple[dict[str, Played], dict[str, str]]:
    """Score every example before its label is learnt. Returns the results, and the reasons for missing ones."""
    found: dict[str, list[Done]] = {contender.name: [] for contender in contenders}
    sizes = [len(examples[start : start + turn]) for start in range(0, len(examples), turn)]
    with Field(folder, contenders, connections=1) as running:
        for number, size in enumerate(sizes):
            some = examples[number * turn : number * turn + size]
            say(f"examples {number * turn + 1:,} to {number * turn + size:,} of {len(examples):,}")
            for contender in running.turn(number):
                done = running.ask(contender, contender.played(some))
                if done is not None and len(done.verdicts) != size:
                    raise RuntimeError(f"{contender.name} gave {len(done.verdicts)} verdicts on {size} examples")
                found[contender.name] += [done] if done is not None else []
        failed = running.failed
    labels = np.array([float(example.label) for example in examples])
    said = {
        name: np.frombuffer(b"".join(d.verdicts for d in done), np.uint8).astype(np.float64)
        for name, done in found.items()
    }

    def played(contender: Contender) -> Played:
        turns = found[contender.name]
        rates = [size / done.seconds for size, done in zip(sizes, turns, strict=True)]
        predict, learn = (np.concatenate([done.latencies(kind) for done in turns]) for kind in (PREDICT, LEARN))
        knows = contender.group is not Group.LIMIT
        verdicts = judged(labels, said[contender.name], said[contender.beside]) if knows else None
        return Played(rates, percentiles(predict) if predict.size else None, percentiles(learn), verdicts)

    return {each.name: played(each) for each in contenders if each.name not in failed}, failed


def load(
    folder: Path, contenders: Sequence[Contender], examples: Sequence[Example], sizes: Sizes
) -> tuple[dict[str, tuple[Loaded, Loaded]], dict[str, str]]:
    """Score, then teach, over many connections. Returns the results, and the reasons for missing ones."""
    taught, fresh = examples[: sizes.taught], fresh_examples(examples[sizes.taught :], sizes.rounds)
    found: dict[tuple[str, str], list[Done]] = {
        (each.name, kind): [] for each in contenders for kind in (PREDICT, LEARN)
    }
    with Field(folder, contenders, CONNECTIONS) as running:
        say(f"teaching {len(taught):,} examples to all")
        for contender in running.turn(0):
            running.ask(contender, contender.learns(taught))
        for number in range(sizes.rounds):
            for kind in (PREDICT, LEARN):
                say(f"round {number + 1} of {sizes.rounds}: {kind} over {CONNECTIONS} connections")
                for contender in running.turn(number):
                    requests = contender.predicts(taught) if kind == PREDICT else contender.learns(fresh[number])
                    done = running.ask(contender, requests, sizes.load_seconds)
                    found[contender.name, kind] += [done] if done is not None else []
        failed = running.failed

    def loaded(contender: Contender, kind: str) -> Loaded:
        rounds = found[contender.name, kind]
        latencies: Floats = np.concatenate([done.latencies(kind) for done in rounds])
        return Loaded([contender.items * done.answers / done.seconds for done in rounds], percentiles(latencies))

    ran = [each for each in contenders if each.name not in failed]
    return {each.name: (loaded(each, PREDICT), loaded(each, LEARN)) for each in ran}, failed


def fresh_examples(examples: Sequence[Example], rounds: int) -> list[Sequence[Example]]:
    """Others for every round, in full batches: a label that was learnt before may be refused, which is less work."""
    size = len(examples) // rounds // BATCH * BATCH
    if not size:
        raise ValueError(f"{len(examples)} examples are too few for {rounds} rounds of learning")
    return [examples[number * size : (number + 1) * size] for number in range(rounds)]
