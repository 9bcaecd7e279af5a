"""Many connections at once: everyone is asked for verdicts, then taught, in turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from load_tests.peers.client.jobs import Done
from load_tests.peers.contenders.contender import Contender
from load_tests.peers.examples import Example
from load_tests.peers.field import Field
from load_tests.peers.figures import Loaded, latency
from load_tests.peers.sizes import BATCH, CONNECTIONS, Sizes
from load_tests.peers.telling import say

PREDICT, LEARN = "predict", "learn"


@dataclass(frozen=True, slots=True)
class Pair:
    """Both kinds of requests."""

    predicting: Loaded
    learning: Loaded


def load(
    folder: Path, contenders: Sequence[Contender], examples: Sequence[Example], sizes: Sizes
) -> tuple[dict[str, Pair], dict[str, str]]:
    """What everyone did; and why some did not."""
    taught, fresh = examples[: sizes.taught], fresh_examples(examples[sizes.taught :], sizes.rounds)
    found: dict[str, dict[str, list[Done]]] = {each.name: {PREDICT: [], LEARN: []} for each in contenders}
    with Field(folder, contenders, CONNECTIONS) as running:
        say(f"teaching everyone {len(taught):,} examples")
        for contender in running.turn(0):
            running.ask(contender, contender.learns(taught))
        for number in range(sizes.rounds):
            for kind in (PREDICT, LEARN):
                say(f"round {number + 1} of {sizes.rounds}: {kind} over {CONNECTIONS} connections")
                for contender in running.turn(number):
                    requests = contender.predicts(taught) if kind == PREDICT else contender.learns(fresh[number])
                    done = running.ask(contender, requests, sizes.load_seconds)
                    if done is not None:
                        found[contender.name][kind].append(done)
        failed = running.failed
    ran = [each for each in contenders if each.name not in failed]
    return {each.name: _pair(found[each.name], each.items) for each in ran}, failed


def fresh_examples(examples: Sequence[Example], rounds: int) -> list[Sequence[Example]]:
    """Others for every round, in full batches: what was learnt before may be refused, which is less work."""
    size = len(examples) // rounds // BATCH * BATCH
    if not size:
        raise ValueError(f"{len(examples)} examples are too few for {rounds} rounds of learning")
    return [examples[number * size : (number + 1) * size] for number in range(rounds)]


def _pair(found: dict[str, list[Done]], items: int) -> Pair:
    return Pair(_loaded(found[PREDICT], items), _loaded(found[LEARN], items))


def _loaded(rounds: list[Done], items: int) -> Loaded:
    seconds = [np.concatenate([done.predict_seconds, done.learn_seconds]) for done in rounds]  # one of them is empty
    found = latency(np.concatenate(seconds))
    if found is None:
        raise RuntimeError("no answer came within the time that counts")
    rates = [items * each.size / done.seconds for each, done in zip(seconds, rounds, strict=True)]
    return Loaded(rates, found)
