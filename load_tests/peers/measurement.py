"""All contenders run at the same time and take turns: on streams over one connection, then on loads over many."""

import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from load_tests.harness.client import run
from load_tests.harness.jobs import ClosedLoop, Done, Request, percentiles
from load_tests.harness.report import say
from load_tests.harness.sizes import BATCH, Sizes
from load_tests.peers.contenders import LEARN, PREDICT, Contender, Group, Place
from load_tests.peers.examples import Example
from load_tests.peers.results import CONNECTIONS, Loaded, Played, judged

FAILURES = (OSError, subprocess.SubprocessError)  # a TimeoutError is an OSError
SETTLE_SECONDS = 1.0  # after Sluice has learnt: a snapshot may be due, which must not slow the next contender

Failed = dict[str, str]  # why contenders are out


@dataclass(frozen=True, slots=True)
class Round:
    """What every contender gets in its turn."""

    text: str
    requests: Callable[[Contender], list[Request]]
    seconds: float = 0.0  # 0: each request once, over one connection


def play(
    folder: Path, contenders: Sequence[Contender], examples: Sequence[Example], turn: int
) -> tuple[dict[str, Played], Failed]:
    """Score every example before its label is learnt, over one connection."""
    parts = [examples[start : start + turn] for start in range(0, len(examples), turn)]
    rounds = [Round(f"{len(part):,} examples", lambda each, part=part: each.played(part)) for part in parts]  # type: ignore[misc] # mypy cannot infer the default
    found, failed = take_turns(folder, contenders, 1, rounds)
    labels = np.array([float(example.label) for example in examples])
    said = {name: np.frombuffer(b"".join(d.verdicts for d in done), np.uint8) for name, done in found.items()}

    def played(contender: Contender) -> Played:
        turns = found[contender.name]
        if [len(done.verdicts) for done in turns] != [len(part) for part in parts]:
            raise RuntimeError(f"{contender.name} gave {said[contender.name].size} verdicts on {labels.size} examples")
        rates = [len(part) / done.seconds for part, done in zip(parts, turns, strict=True)]
        predict, learn = (np.concatenate([done.latencies(kind) for done in turns]) for kind in (PREDICT, LEARN))
        theirs, ours = (said[name].astype(np.float64) for name in (contender.name, contender.beside))
        verdicts = judged(labels, theirs, ours) if contender.group is not Group.LIMIT else None
        return Played(rates, percentiles(predict) if predict.size else None, percentiles(learn), verdicts)

    return {each.name: played(each) for each in contenders if each.name in found}, failed


def load(
    folder: Path, contenders: Sequence[Contender], examples: Sequence[Example], sizes: Sizes
) -> tuple[dict[str, tuple[Loaded, Loaded]], Failed]:
    """Score, then teach, over many connections."""
    taught, fresh = examples[: sizes.taught], fresh_examples(examples[sizes.taught :], sizes.rounds)
    rounds = [Round(f"teaching {len(taught):,} examples", lambda each: each.learns(taught))]
    for number, some in enumerate(fresh, 1):
        text = f"round {number} of {sizes.rounds}, {CONNECTIONS} connections"
        rounds.append(Round(f"{text}: predict", lambda each: each.predicts(taught), sizes.load_seconds))
        rounds.append(Round(f"{text}: learn", lambda each, some=some: each.learns(some), sizes.load_seconds))  # type: ignore[misc] # mypy cannot infer the default
    found, failed = take_turns(folder, contenders, CONNECTIONS, rounds)

    def loaded(contender: Contender, kind: str) -> Loaded:
        done = found[contender.name][1 if kind == PREDICT else 2 :: 2]
        latencies = np.concatenate([each.latencies(kind) for each in done])
        return Loaded([contender.items * each.answers / each.seconds for each in done], percentiles(latencies))

    ran = [each for each in contenders if each.name in found]
    return {each.name: (loaded(each, PREDICT), loaded(each, LEARN)) for each in ran}, failed


def fresh_examples(examples: Sequence[Example], rounds: int) -> list[Sequence[Example]]:
    """Others for every round, in full batches: a label that was learnt before may be refused, which is less work."""
    size = len(examples) // rounds // BATCH * BATCH
    if not size:
        raise ValueError(f"{len(examples)} examples are too few for {rounds} rounds of learning")
    return [examples[number * size : (number + 1) * size] for number in range(rounds)]


def take_turns(
    folder: Path, contenders: Sequence[Contender], connections: int, rounds: Sequence[Round]
) -> tuple[dict[str, list[Done]], Failed]:
    """Start all, run each round, with another contender first in every one, and end all. A peer that fails is out."""
    places: dict[str, Place] = {}
    found: dict[str, list[Done]] = {each.name: [] for each in contenders}
    failed: Failed = {}

    def fail(contender: Contender, error: Exception) -> None:
        if contender.group in {Group.LIMIT, Group.OURS}:
            raise error
        failed[contender.name] = f"it failed: {error}"
        say(f"{contender.name} is out: {error}")

    with ExitStack() as stack:
        for number, contender in enumerate(contenders):
            if reason := contender.absent():
                failed[contender.name] = reason
                continue
            say(f"starting {contender.name}")
            place = folder / str(number)
            place.mkdir(parents=True)
            try:
                places[contender.name] = stack.enter_context(contender.served(place, connections))
            except FAILURES as error:
                fail(contender, error)
        for number, each in enumerate(rounds):
            say(each.text)
            first = number % len(contenders)
            for contender in [*contenders[first:], *contenders[:first]]:
                if contender.name in failed:
                    continue
                try:
                    found[contender.name].append(_done(contender, places[contender.name], each, connections))
                except FAILURES as error:
                    fail(contender, error)
    return {name: done for name, done in found.items() if name not in failed}, failed


def _done(contender: Contender, place: Place, given: Round, connections: int) -> Done:
    """A load is tried twice: a connection may be lost while all cores are busy. A stream is learnt only once."""
    job = ClosedLoop(
        wire=contender.wire,
        verdict=contender.verdict,
        requests=given.requests(contender),
        port=place.port,
        folder=place.folder,
        connections=connections if given.seconds else 1,
        seconds=given.seconds,
        marks=0,
    )
    try:
        done = run(job)
    except FAILURES as error:
        if not given.seconds:
            raise
        say(f"{contender.name} is tried once more: {error}")
        done = run(job)
    if contender.group is Group.OURS:
        time.sleep(SETTLE_SECONDS)
    return done
