"""Cost of a request against workers, features of model and example, and tenants; and of following every change."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import fmean, median

import numpy as np

from load_tests.harness import client
from load_tests.harness.jobs import ConstantRate, Request
from load_tests.harness.processes import processor_seconds, resident_bytes
from load_tests.harness.sizes import CONNECTIONS, SEED, Sizes
from load_tests.harness.traffic import NOT_KEPT, examples, feedback, predict, zipf
from load_tests.scale.load import EXAMPLES, SHORT, Copies, Measured, busy_cores, by_kind, in_turns
from load_tests.scale.results import (
    CLUSTER,
    ONE_SERVER,
    Costs,
    ExampleFound,
    FollowingFound,
    Kind,
    ModelFound,
    TenantsFound,
    Work,
)
from load_tests.scenarios.traffic import mixed, scoring, teaching
from tests.servers import cluster, valkey_server

LABELS_BEFORE = 2000
SETTLE_SECONDS = 2.0  # the second worker of a service may be ready later than the first
BUDGET = "7GiB"  # so that no tenant leaves memory
VOCABULARY = 100_000  # of examples, all in the model
FEATURES_IN_ALL = 1_000_000  # of the different examples of one size together
LEAST, MOST = 100, 1000  # examples of one size
TENANT_FEATURES = 100  # the most frequent of the vocabulary
REQUESTS = 20_000  # that differ: more than are sent in a turn
LOAD_CONNECTIONS = 8
READY_REQUESTS = 20

LABELS_PER_SECOND = 1000.0
AROUND_SECONDS = 0.8  # of labels before and after those in which the follower is observed
FOLLOWED_REQUESTS = 10_000
TICK_SECONDS = 1.0 / os.sysconf("SC_CLK_TCK")

Follower = tuple[Work, Work, float]  # quiet, with labels, microseconds for each label


def measure_workers(folder: Path, sizes: Sizes) -> dict[int, Costs]:
    """One worker and two, side by side, by the scenarios of `make load`."""
    asks = {Kind.PREDICT: scoring(0.0), Kind.MIXED: mixed(0.0)}
    requests = {kind: [ask.http for ask in some] for kind, some in asks.items()}
    one, two = (Measured(folder / str(workers), workers=workers) for workers in (1, 2))
    with one.running(), two.running():
        for service in (one, two):
            for some in asks.values():
                service.send((ask.http for ask in teaching(some, LABELS_BEFORE)), CONNECTIONS)
        time.sleep(SETTLE_SECONDS)
        return in_turns({1: (one, requests), 2: (two, requests)}, sizes)


def measure_models(folder: Path, sizes: Sizes) -> list[ModelFound]:
    stored, loaded, loads = {}, {}, {}
    with Measured(folder, memory_budget_bytes=BUDGET).running() as service:
        for features in sizes.model_sizes:
            before = service.store_bytes()
            service.import_model(f"model-{features}", features)
            stored[features] = service.store_bytes() - before
        service.restart()  # what the import took is no memory of the models
        for features in sizes.model_sizes:
            before = resident_bytes(service.pid)
            seconds = service.seconds("POST", "/predict", Request(predict(SHORT, f"model-{features}")).body)
            loaded[features] = resident_bytes(service.pid) - before, seconds
        for features in sizes.model_sizes:
            kinds = by_kind(examples(EXAMPLES, features), [f"model-{features}"])
            loads[features] = service, {kind: kinds[kind] for kind in (Kind.PREDICT, Kind.FEEDBACK)}
        costs = in_turns(loads, sizes)
    found = []
    for count in sizes.model_sizes:
        resident, seconds = loaded[count]
        each = (resident, resident / count, stored[count], stored[count] / count, seconds)
        found.append(ModelFound(count, *each, costs[count]))
    return found


def measure_examples(folder: Path, sizes: Sizes) -> list[ExampleFound]:
    kinds, lengths = {}, {}
    for features in sizes.example_sizes:
        count = min(max(FEATURES_IN_ALL // features, LEAST), MOST)
        kinds[features] = by_kind(examples(count, VOCABULARY, features=features, seed=[SEED, features]), ["long"])
        lengths[features] = sum(len(Request(request).body) for request in kinds[features][Kind.PREDICT]) // count
    with Measured(folder).running() as service:
        service.import_model("long", VOCABULARY)
        costs = in_turns({features: (service, kinds[features]) for features in sizes.example_sizes}, sizes)
    return [ExampleFound(features, lengths[features], costs[features]) for features in sizes.example_sizes]


def measure_tenants(folder: Path, sizes: Sizes) -> list[TenantsFound]:
    """Ever more tenants in one store, loaded anew into a fresh worker each time."""
    with Measured(folder, memory_budget_bytes=BUDGET, auto_create_tenants=False).running() as service:
        copies, found, stored = Copies(service, TENANT_FEATURES), [], 0
        for before, tenants in zip((0, *sizes.tenant_counts), sizes.tenant_counts, strict=False):
            others = service.store_bytes()  # among them predictions that were kept for fewer tenants
            copies.make(range(before, tenants))
            stored += service.store_bytes() - others
            found.append(_tenants(copies, tenants, stored, sizes))
    return found


def _tenants(copies: Copies, tenants: int, stored: int, sizes: Sizes) -> TenantsFound:
    service = copies.service
    start_seconds, empty, before = service.restart(), resident_bytes(service.pid), service.work()
    copies.load(tenants, LOAD_CONNECTIONS)
    used, resident = service.work().since(before), resident_bytes(service.pid)
    idle = busy_cores(service.work, sizes.idle_seconds)
    rng, some = np.random.default_rng([SEED, tenants]), examples(EXAMPLES)
    drawn = {
        Kind.POPULAR: (rng.choice(tenants, REQUESTS, p=zipf(tenants)), b""),
        Kind.EVEN: (even := rng.integers(tenants, size=REQUESTS), b""),
        Kind.EVEN_NOT_KEPT: (even, NOT_KEPT),
    }
    requests = {
        kind: [predict(some[k % EXAMPLES], copies.name(number), more) for k, number in enumerate(numbers.tolist())]
        for kind, (numbers, more) in drawn.items()
    }
    return TenantsFound(
        tenants=tenants,
        start_seconds=start_seconds,
        ready_milliseconds=1e3 * median(service.seconds("GET", "/readyz") for _ in range(READY_REQUESTS)),
        resident_bytes=resident,
        resident_bytes_each=(resident - empty) / tenants,
        empty_bytes=empty,
        store_bytes=stored,
        load_microseconds=1e6 * used.workers / tenants,
        idle=idle,
        costs=in_turns({tenants: (service, requests)}, sizes)[tenants],
    )


def measure_following(folder: Path, sizes: Sizes) -> list[FollowingFound]:
    """What it costs that every worker follows every change: one server announces changes, a cluster is polled."""
    some, count = examples(EXAMPLES), sizes.followed_tenants
    names = [f"followed-{number:05d}" for number in range(count)]
    drawn = np.random.default_rng([SEED, count]).choice(count, FOLLOWED_REQUESTS, p=zipf(count)).tolist()
    requests = by_kind(some * (FOLLOWED_REQUESTS // EXAMPLES), [names[number] for number in drawn])
    first_labels = [feedback(features, name, 1) for features, name in zip(cycle(some), names)]
    services, found = {}, {}
    with ExitStack() as stack:
        one, three = stack.enter_context(valkey_server(folder / "one")), stack.enter_context(cluster(folder / "three"))
        stores = {ONE_SERVER: (one.url, (one.pid,)), CLUSTER: (three.url, tuple(node.pid for node in three.nodes))}
        for number, (name, (url, pids)) in enumerate(stores.items()):
            first, second = (Measured(folder / f"{number}-{each}", pids, redis_url=url) for each in ("first", "second"))
            alone = busy_cores(partial(_store_work, pids), sizes.idle_seconds).store
            services[name] = stack.enter_context(first.running())
            idle = busy_cores(first.work, sizes.idle_seconds)
            first.send(first_labels, 8)
            with second.running():
                found[name] = alone, idle, *_follow(first, second, requests[Kind.FEEDBACK], sizes)
        costs = in_turns({name: (service, requests) for name, service in services.items()}, sizes)
    return [FollowingFound(name, *found[name], costs[name]) for name in stores]


def _follow(first: Measured, second: Measured, labels: list[bytes], sizes: Sizes) -> Follower:
    """What the second service uses without labels, and while the first one gets labels; and what a label adds."""
    quiet, busy = [], []
    for _ in range(sizes.scale_rounds):
        quiet.append(busy_cores(second.work, sizes.idle_seconds))
        busy.append(_labelled(first, second, labels, sizes.idle_seconds))
    added = sum(more.workers - less.workers for more, less in zip(busy, quiet, strict=True)) / sizes.scale_rounds
    cores = [each.workers for each in quiet]  # as far as these differ, what a label adds may be chance
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
        found = busy_cores(second.work, seconds)
        load.result()
    return found


def _mean(rounds: Sequence[Work]) -> Work:
    return Work(fmean(each.workers for each in rounds), fmean(each.store for each in rounds))


def _store_work(pids: Sequence[int]) -> Work:
    return Work(0.0, sum(map(processor_seconds, pids)))
