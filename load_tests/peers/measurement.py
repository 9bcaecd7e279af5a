"""All contenders run at the same time and take turns: on streams over one connection, then on loads over many."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from load_tests.harness.client import run
from load_tests.harness.jobs import Done, Request, percentiles_of
from load_tests.harness.report import say
from load_tests.harness.sizes import BATCH, Sizes
from load_tests.harness.traffic import parts
from load_tests.peers.contenders import LEARN, PREDICT, Contender, Group, Place
from load_tests.peers.examples import Example
from load_tests.peers.results import BOTH, CONNECTIONS, LEARNING, PREDICTING, Row, judged

FAILURES = (OSError, subprocess.SubprocessError)  # a TimeoutError is an OSError
SETTLE_SECONDS = 1.0  # after Sluice has learnt: a snapshot may be due, which must not slow the next contender

Failed = dict[str, str]  # why contenders are out
Rows = Mapping[str, Row]
Stream = tuple[str, Sequence[Example]]


@dataclass(frozen=True, slots=True)
class Round:
    """What every contender gets in its turn."""

    text: str
    requests: Callable[[Contender], list[Request]]
    seconds: float = 0.0  # 0: each request once, over one connection


def play(folder: Path, rows: Rows, contenders: Sequence[Contender], stream: Stream, turn: int) -> None:
    """Score every example before its label is learnt, over one connection. Rates are those of the first stream."""
    name, examples = stream
    portions = parts(examples, turn)
    rounds = [Round(f"{len(part):,} examples", lambda each, part=part: each.played(part)) for part in portions]  # type: ignore[misc] # mypy cannot infer the default
    found, failed = take_turns(folder, contenders, 1, rounds)
    labels = np.array([float(example.label) for example in examples])
    said = {each: np.array([*b"".join(d.verdicts for d in done)], np.float64) for each, done in found.items()}
    for contender, turns in ((each, found[each.name]) for each in contenders if each.name in found):
        row = rows[contender.name]
        if [len(done.verdicts) for done in turns] != [len(part) for part in portions]:
            raise RuntimeError(f"{contender.name} gave {said[contender.name].size} verdicts on {labels.size} examples")
        if contender.group is not Group.LIMIT:
            row.verdicts[name] = judged(labels, said[contender.name], said[contender.beside])
        if BOTH not in row.rates and not row.absent:
            row.rates[BOTH] = [len(part) / done.seconds for part, done in zip(portions, turns, strict=True)]
            for kind in turns[0].kinds:
                row.latencies[kind] = percentiles_of(turns, kind)
    for each, reason in failed.items():
        rows[each].absent = reason


def load(folder: Path, rows: Rows, contenders: Sequence[Contender], examples: Sequence[Example], sizes: Sizes) -> None:
    taught, fresh = examples[: sizes.taught], fresh_examples(examples[sizes.taught :], sizes.rounds)
    rounds = [Round(f"teaching {len(taught):,} examples", lambda each: each.learns(taught))]
    for number, some in enumerate(fresh, 1):
        text = f"round {number} of {sizes.rounds}, {CONNECTIONS} connections"
        rounds.append(Round(f"{text}: predict", lambda each: each.predicts(taught), sizes.load_seconds))
        rounds.append(Round(f"{text}: learn", lambda each, some=some: each.learns(some), sizes.load_seconds))  # type: ignore[misc] # mypy cannot infer the default
    found, failed = take_turns(folder, contenders, CONNECTIONS, rounds)
    for contender, (_, *turns) in ((each, found[each.name]) for each in contenders if each.name in found):
        row = rows[contender.name]
        for work, kind, of_kind in ((PREDICTING, PREDICT, turns[::2]), (LEARNING, LEARN, turns[1::2])):
            row.rates[work] = [contender.items * done.answers / done.seconds for done in of_kind]
            row.latencies[work] = percentiles_of(of_kind, kind)
    for each, reason in failed.items():
        rows[each].absent = reason


def fresh_examples(examples: Sequence[Example], rounds: int) -> list[Sequence[Example]]:
    """Others for every round, in full batches: a label that was learnt before may be refused, which is less work."""
    size = len(examples) // rounds // BATCH * BATCH
    if not size:
        raise ValueError(f"{len(examples)} examples are too few for {rounds} rounds of learning")
    return parts(examples, size)[:rounds]


def take_turns(
    folder: Path, contenders: Sequence[Contender], connections: int, rounds: Sequence[Round]
) -> tuple[dict[str, list[Done]], Failed]:
    """Start all, run each round, with another contender first in every one, and end all. A peer that fails is out."""
    places: dict[str, Place] = {}
    found: dict[str, list[Done]] = {each.name: [] for each in contenders}
    failed: Failed = {}

    def fail(contender: Contender, error: Exception) -> None:
        if contender.is_ours or contender.group is Group.LIMIT:
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
    job = contender.job(place, given.requests(contender), connections if given.seconds else 1, given.seconds)
    try:
        done = run(job)
    except FAILURES as error:
        if not given.seconds:
            raise
        say(f"{contender.name} is tried once more: {error}")
        done = run(job)
    if contender.is_ours:
        time.sleep(SETTLE_SECONDS)
    return done
