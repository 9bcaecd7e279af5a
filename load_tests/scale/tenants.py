"""Cost of a request against the number of tenants in one worker's memory, and what holding them costs by itself."""

import time
from pathlib import Path
from statistics import median

import numpy as np

from load_tests.harness import traffic
from load_tests.harness.client import call as ask_well
from load_tests.harness.processes import Service, ended, resident_bytes
from load_tests.harness.traffic import zipf
from load_tests.scale.copies import Copies
from load_tests.scale.loading import Load, in_turns
from load_tests.scale.requests import NEVER, NOT_KEPT, SEED, predict
from load_tests.scale.results import TenantsFound
from load_tests.scale.sizes import Sizes
from load_tests.scale.watching import Setup, store_bytes

FEATURES = 100  # of each tenant: of the vocabulary of the examples, those that come most often
EXAMPLES = 1000
REQUESTS = 20_000  # that differ: more than a turn asks
LOADING_CONNECTIONS = 8
READY_ASKED = 20
BUDGET = "7GiB"  # so that none leaves memory

POPULAR, EVENLY, EVENLY_NOT_KEPT = "tenants by Zipf's law", "tenants evenly", "tenants evenly, keep=false"


def measure(folder: Path, sizes: Sizes) -> list[TenantsFound]:
    """Ever more tenants in one store, loaded anew into a fresh worker each time."""
    service = Service(folder, memory_budget_bytes=BUDGET, auto_create_tenants=False, **NEVER)
    with ended(service.start()):
        service.is_ready()
        copies, found, stored = Copies(service, FEATURES), [], 0
        for before, tenants in zip((0, *sizes.tenants), sizes.tenants, strict=False):
            others = store_bytes(service)  # among them what was kept of the predictions for fewer tenants
            copies.make(range(before, tenants))
            stored += store_bytes(service) - others
            found.append(_measured(copies, tenants, stored, sizes))
    return found


def _measured(copies: Copies, tenants: int, stored: int, sizes: Sizes) -> TenantsFound:
    service = copies.service
    service.kill()
    start = time.perf_counter()
    service.start()
    service.is_ready()
    start_seconds, empty = time.perf_counter() - start, resident_bytes(service.pid)
    work, _ = copies.load(tenants, LOADING_CONNECTIONS)
    resident, setup = resident_bytes(service.pid), Setup(service)
    idle, ready = setup.idle(sizes.idle_seconds), _ready_milliseconds(service)
    asked = in_turns(_loads(setup, copies, tenants), sizes)
    return TenantsFound(
        tenants=tenants,
        start_seconds=start_seconds,
        ready_milliseconds=ready,
        resident_bytes=resident,
        empty_bytes=empty,
        store_bytes=stored,
        load_microseconds=1e6 * work.workers / tenants,
        idle=idle,
        popular=asked[POPULAR],
        evenly=asked[EVENLY],
        evenly_not_kept=asked[EVENLY_NOT_KEPT],
    )


def _ready_milliseconds(service: Service) -> float:
    taken = []
    for _ in range(READY_ASKED):
        start = time.perf_counter()
        ask_well(service.port, "GET", "/readyz")
        taken.append(time.perf_counter() - start)
    return 1e3 * median(taken)


def _loads(setup: Setup, copies: Copies, tenants: int) -> dict[str, Load]:
    rng, examples = np.random.default_rng([SEED, tenants]), traffic.examples(EXAMPLES)
    popular = rng.choice(tenants, REQUESTS, p=zipf(tenants)).tolist()
    evenly = rng.integers(tenants, size=REQUESTS).tolist()

    def load(numbers: list[int], more: bytes = b"") -> Load:
        asked = enumerate(map(copies.name, numbers))
        return Load(setup, [predict(name, examples[k % EXAMPLES], more) for k, name in asked])

    return {POPULAR: load(popular), EVENLY: load(evenly), EVENLY_NOT_KEPT: load(evenly, NOT_KEPT)}
