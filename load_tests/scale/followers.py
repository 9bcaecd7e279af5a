"""What it costs that every worker follows every change: one server announces changes, a cluster has to be polled."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean

import numpy as np

from load_tests.harness import client
from load_tests.harness.jobs import ConstantRate, Request
from load_tests.harness.processes import processor_seconds
from load_tests.harness.sizes import SEED, Sizes
from load_tests.harness.traffic import examples, feedback, zipf
from load_tests.scale.load import EXAMPLES, Measured, by_kind, in_turns
from load_tests.scale.results import CLUSTER, ONE_SERVER, FollowingFound, Kind, Work
from tests.servers import cluster, valkey_server

LABELS_PER_SECOND = 1000.0
AROUND_SECONDS = 0.8  # of labels before and after those in which the follower is observed
REQUESTS = 10_000
TICK_SECONDS = 1.0 / os.sysconf("SC_CLK_TCK")

Follower = tuple[Work, Work, float]  # quiet, with labels, microseconds for each label


def measure(folder: Path, sizes: Sizes) -> list[FollowingFound]:
    """On stores of both kinds, which are asked in turns."""
    some, count = examples(EXAMPLES), sizes.followed_tenants
    drawn = np.random.default_rng([SEED, count]).choice(count, REQUESTS, p=zipf(count)).tolist()
    requests = by_kind(some * (REQUESTS // EXAMPLES), list(map(_name, drawn)))
    first_labels = [feedback(some[k % EXAMPLES], _name(k), 1) for k in range(count)]
    services, found = {}, {}
    with ExitStack() as stack:
        one, three = stack.enter_context(valkey_server(folder / "one")), stack.enter_context(cluster(folder / "three"))
        stores = {ONE_SERVER: (one.url, (one.pid,)), CLUSTER: (three.url, tuple(node.pid for node in three.nodes))}
        for number, (name, (url, pids)) in enumerate(stores.items()):
            first, second = (Measured(folder / f"{number}-{each}", pids, redis_url=url) for each in ("first", "second"))
            alone = _busy_cores(pids, sizes.idle_seconds)
            services[name] = stack.enter_context(first.running())
            idle = first.idle(sizes.idle_seconds)
            first.send(first_labels, 8)
            with second.running():
                found[name] = alone, idle, *_follow(first, second, requests[Kind.FEEDBACK], sizes)
        costs = in_turns({name: (service, requests) for name, service in services.items()}, sizes)
    return [FollowingFound(name, *found[name], costs[name]) for name in stores]


def _follow(first: Measured, second: Measured, labels: list[bytes], sizes: Sizes) -> Follower:
    """What the second service uses without labels, and while the first one gets labels; and what a label adds.

    A label adds no less than what could be chance, which is how much the rounds without labels differ.
    """
    quiet, busy = [], []
    for _ in range(sizes.scale_rounds):
        quiet.append(second.idle(sizes.idle_seconds))
        busy.append(_labelled(first, second, labels, sizes.idle_seconds))
    added = sum(more.workers - less.workers for more, less in zip(busy, quiet, strict=True)) / sizes.scale_rounds
    cores = [each.workers for each in quiet]
    least = max(max(cores) - min(cores), TICK_SECONDS / sizes.idle_seconds)
    return _mean(quiet), _mean(busy), 1e6 * max(added, least) / LABELS_PER_SECOND


def _labelled(first: Measured, second: Measured, labels: list[bytes], seconds: float) -> Work:
    """What the second service uses in the midst of labels for the first one."""
    job = ConstantRate(
        port=first.port,
        kinds={Kind.FEEDBACK: list(map(Request, labels))},
        per_second=LABELS_PER_SECOND,
        seconds=seconds + 2 * AROUND_SECONDS,
    )
    with ThreadPoolExecutor(1) as beside:
        load = beside.submit(client.run, job)
        time.sleep(2 * AROUND_SECONDS)  # the client has to start, too
        found = second.idle(seconds)
        load.result()
    return found


def _mean(rounds: Sequence[Work]) -> Work:
    return Work(fmean(each.workers for each in rounds), fmean(each.store for each in rounds))


def _busy_cores(pids: Sequence[int], seconds: float) -> float:
    before, start = sum(map(processor_seconds, pids)), time.perf_counter()
    time.sleep(seconds)
    return (sum(map(processor_seconds, pids)) - before) / (time.perf_counter() - start)


def _name(number: int) -> str:
    return f"followed-{number:05d}"
