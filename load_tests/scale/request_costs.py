"""Cost of a request against the number of workers, features in the model, features of the example, and tenants."""

import time
from pathlib import Path
from statistics import median

import numpy as np

from load_tests.harness.processes import resident_bytes
from load_tests.harness.sizes import CONNECTIONS, SEED, Sizes
from load_tests.harness.traffic import NOT_KEPT, examples, predict, zipf
from load_tests.scale.load import EXAMPLES, SHORT, Copies, Measured, body, by_kind, in_turns
from load_tests.scale.results import ExampleFound, Kind, ModelFound, TenantsFound, WorkersFound
from load_tests.scenarios.traffic import mixed, scoring, teaching

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


def measure_workers(folder: Path, sizes: Sizes) -> list[WorkersFound]:
    """One worker and two, side by side, by the scenarios of `make load`."""
    asks = {Kind.PREDICT: scoring(0.0), Kind.MIXED: mixed(0.0)}
    requests = {kind: [ask.http for ask in some] for kind, some in asks.items()}
    one, two = (Measured(folder / str(workers), workers=workers) for workers in (1, 2))
    with one.running(), two.running():
        for service in (one, two):
            for some in asks.values():
                service.send((ask.http for ask in teaching(some, LABELS_BEFORE)), CONNECTIONS)
        time.sleep(SETTLE_SECONDS)
        costs = in_turns({1: (one, requests), 2: (two, requests)}, sizes)
    return [WorkersFound(workers, costs[workers]) for workers in (1, 2)]


def measure_models(folder: Path, sizes: Sizes) -> list[ModelFound]:
    """Models of every size in one worker."""
    stored, loads = {}, {}
    with Measured(folder, memory_budget_bytes=BUDGET).running() as service:
        for features in sizes.model_sizes:
            before = service.store_bytes()
            service.import_model(f"model-{features}", features)
            stored[features] = service.store_bytes() - before
        service.restart()  # what the import took is no memory of the models
        loaded = {features: _load(service, f"model-{features}") for features in sizes.model_sizes}
        for features in sizes.model_sizes:
            kinds = by_kind(examples(EXAMPLES, features), [f"model-{features}"])
            loads[features] = service, {kind: kinds[kind] for kind in (Kind.PREDICT, Kind.FEEDBACK)}
        costs = in_turns(loads, sizes)
    return [ModelFound(each, loaded[each][0], stored[each], loaded[each][1], costs[each]) for each in sizes.model_sizes]


def _load(service: Measured, tenant: str) -> tuple[int, float]:
    """The memory that a tenant takes in the worker, and the seconds until its first answer."""
    before, start = resident_bytes(service.pid), time.perf_counter()
    service.call("POST", "/predict", body(predict(SHORT, tenant)))
    seconds = time.perf_counter() - start
    return resident_bytes(service.pid) - before, seconds


def measure_examples(folder: Path, sizes: Sizes) -> list[ExampleFound]:
    """Examples of every size, for one tenant."""
    kinds, lengths = {}, {}
    for features in sizes.example_sizes:
        count = min(max(FEATURES_IN_ALL // features, LEAST), MOST)
        kinds[features] = by_kind(examples(count, VOCABULARY, features=features, seed=[SEED, features]), ["long"])
        lengths[features] = sum(len(body(request)) for request in kinds[features][Kind.PREDICT]) // count
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
    used, resident, idle = service.work().since(before), resident_bytes(service.pid), service.idle(sizes.idle_seconds)
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
        ready_milliseconds=_ready_milliseconds(service),
        resident_bytes=resident,
        empty_bytes=empty,
        store_bytes=stored,
        load_microseconds=1e6 * used.workers / tenants,
        idle=idle,
        costs=in_turns({tenants: (service, requests)}, sizes)[tenants],
    )


def _ready_milliseconds(service: Measured) -> float:
    taken = []
    for _ in range(READY_REQUESTS):
        start = time.perf_counter()
        service.call("GET", "/readyz")
        taken.append(time.perf_counter() - start)
    return 1e3 * median(taken)
