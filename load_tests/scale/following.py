"""What it costs that every worker follows every change: one server tells it, a cluster has to be asked."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from load_tests.harness import traffic
from load_tests.harness.client import run as done
from load_tests.harness.jobs import ClosedLoop, ConstantRate, Request
from load_tests.harness.processes import Service, ended
from load_tests.harness.traffic import zipf
from load_tests.scale.figures import Asked, Idle
from load_tests.scale.loading import Load, in_turns
from load_tests.scale.requests import NEVER, NOT_KEPT, SEED, feedback, predict
from load_tests.scale.results import FollowingFound
from load_tests.scale.sizes import Sizes
from load_tests.scale.watching import Setup, busy_cores
from tests.servers import cluster, valkey_server

ONE_SERVER, CLUSTER = "one server", "a cluster of three"
LABELS_PER_SECOND = 1000.0
AROUND_SECONDS = 0.8  # of labels before and after those in which the follower is looked at
EXAMPLES = 1000
REQUESTS = 10_000
PREDICT, NOT_KEPT_PREDICT, FEEDBACK = "/predict", "/predict, keep=false", "/feedback"
TICK_SECONDS = 1.0 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Store:
    """Where services keep everything."""

    name: str
    url: str
    pids: tuple[int, ...]


def measure(folder: Path, sizes: Sizes) -> list[FollowingFound]:
    """On stores of both kinds, which are asked in turns."""
    requests = _requests(sizes.followed_tenants)
    with ExitStack() as running:
        stores = [running.enter_context(one_server(folder / "one")), running.enter_context(three(folder / "three"))]
        served = [_served(running, folder / f"on-{number}", store, sizes) for number, store in enumerate(stores)]
        loads = {
            f"{kind} on {each.store}": Load(each.setup, some) for each in served for kind, some in requests.items()
        }
        asked = in_turns(loads, sizes)
    return [each.found(asked) for each in served]


@contextmanager
def one_server(folder: Path) -> Iterator[Store]:
    """Valkey on a port."""
    with valkey_server(folder) as server:
        yield Store(ONE_SERVER, server.url, (server.pid,))


@contextmanager
def three(folder: Path) -> Iterator[Store]:
    """A cluster."""
    with cluster(folder) as made:
        yield Store(CLUSTER, made.url, tuple(node.pid for node in made.nodes))


@dataclass(frozen=True, slots=True)
class Served:
    """A service on a store, and what following costs there."""

    store: str
    setup: Setup
    alone: float
    idle: Idle
    quiet: Idle
    follower: Idle
    heard_microseconds: float

    def found(self, asked: Mapping[str, Asked]) -> FollowingFound:
        """With what requests cost."""
        return FollowingFound(
            store=self.store,
            alone=self.alone,
            idle=self.idle,
            labels_per_second=LABELS_PER_SECOND,
            quiet=self.quiet,
            follower=self.follower,
            heard_microseconds=self.heard_microseconds,
            predict=asked[f"{PREDICT} on {self.store}"],
            not_kept=asked[f"{NOT_KEPT_PREDICT} on {self.store}"],
            feedback=asked[f"{FEEDBACK} on {self.store}"],
        )


def _served(running: ExitStack, folder: Path, store: Store, sizes: Sizes) -> Served:
    """It goes on running."""
    first = Service(folder / "first", redis_url=store.url, **NEVER)
    second = Service(folder / "second", redis_url=store.url, **NEVER)
    labels, alone = _requests(sizes.followed_tenants)[FEEDBACK], busy_cores(store.pids, sizes.idle_seconds)
    running.enter_context(ended(first))
    setup = Setup(first.start().is_ready(), store.pids)
    idle = setup.idle(sizes.idle_seconds)
    done(ClosedLoop(port=first.port, requests=_one_each(sizes.followed_tenants), connections=8))
    with ended(second.start()):
        follower = _following(first, Setup(second.is_ready(), store.pids), labels, sizes)
    return Served(store.name, setup, alone, idle, *follower)


def _following(first: Service, second: Setup, labels: list[bytes], sizes: Sizes) -> tuple[Idle, Idle, float]:
    """What the second is busy with while nobody is labelled, and in the midst of labels that the first is given.

    In turns, and with what a label adds, in microseconds: no less than could be told from chance, which is how much the
    rounds without labels differ.
    """
    quiet, busy = [], []
    for _ in range(sizes.rounds):
        quiet.append(second.idle(sizes.idle_seconds))
        busy.append(_labelled(first, second, labels, sizes.idle_seconds))
    added = sum(more.workers - less.workers for more, less in zip(busy, quiet, strict=True)) / sizes.rounds
    cores = [each.workers for each in quiet]
    least = max(max(cores) - min(cores), TICK_SECONDS / sizes.idle_seconds)
    return _mean(quiet), _mean(busy), 1e6 * max(added, least) / LABELS_PER_SECOND


def _labelled(first: Service, second: Setup, labels: list[bytes], seconds: float) -> Idle:
    job = ConstantRate(
        port=first.port,
        kinds={FEEDBACK: [Request(label) for label in labels]},
        per_second=LABELS_PER_SECOND,
        seconds=seconds + 2 * AROUND_SECONDS,
    )
    with ThreadPoolExecutor(1) as beside:
        labelling = beside.submit(done, job)
        time.sleep(2 * AROUND_SECONDS)  # the client has to start, too
        found = second.idle(seconds)
        labelling.result()
    return found


def _mean(rounds: Sequence[Idle]) -> Idle:
    return Idle(fmean(each.workers for each in rounds), fmean(each.store for each in rounds))


def _requests(tenants: int) -> dict[str, list[bytes]]:
    """For tenants as popular as Zipf's law says."""
    rng, examples = np.random.default_rng([SEED, tenants]), traffic.examples(EXAMPLES)
    numbers = rng.choice(tenants, REQUESTS, p=zipf(tenants)).tolist()
    labels = rng.choice([1, -1], REQUESTS).tolist()
    drawn = [
        (_name(number), examples[k % EXAMPLES], label)
        for k, (number, label) in enumerate(zip(numbers, labels, strict=True))
    ]
    return {
        PREDICT: [predict(name, features) for name, features, _ in drawn],
        NOT_KEPT_PREDICT: [predict(name, features, NOT_KEPT) for name, features, _ in drawn],
        FEEDBACK: [feedback(name, features, label) for name, features, label in drawn],
    }


def _one_each(tenants: int) -> list[Request]:
    """A label for each tenant, so that all are there."""
    examples = traffic.examples(EXAMPLES)
    return [Request(feedback(_name(number), examples[number % EXAMPLES], 1)) for number in range(tenants)]


def _name(number: int) -> str:
    return f"followed-{number:05d}"
