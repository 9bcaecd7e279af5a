"""One worker and two: how much more two serve."""

import time
from pathlib import Path

from load_tests.harness.client import run as done
from load_tests.harness.jobs import ClosedLoop, Request
from load_tests.harness.processes import Service, ended
from load_tests.harness.processes import Service as AllWorkers
from load_tests.scale.loading import Load, in_turns
from load_tests.scale.results import WorkersFound
from load_tests.scale.sizes import Sizes
from load_tests.scale.watching import Setup
from load_tests.scenarios import traffic

WORKERS = (1, 2)
TAUGHT = 2000
SETTLE_SECONDS = 2.0  # the second worker of a service may be ready later than the first
PREDICT, MIXED = "/predict", "a mixed day"


def measure(folder: Path, sizes: Sizes) -> list[WorkersFound]:
    """Both services side by side; who is not asked waits."""
    one, two = (AllWorkers(folder / str(workers), workers=workers) for workers in WORKERS)
    with ended(one.start()), ended(two.start()):
        _teach(one)
        _teach(two)
        time.sleep(SETTLE_SECONDS)
        loads = {
            f"{kind}, {workers}": Load(Setup(service), requests)
            for kind, requests in _requests().items()
            for workers, service in zip(WORKERS, (one, two), strict=True)
        }
        asked = in_turns(loads, sizes)
    return [WorkersFound(workers, asked[f"{PREDICT}, {workers}"], asked[f"{MIXED}, {workers}"]) for workers in WORKERS]


def _requests() -> dict[str, list[bytes]]:
    """The scenarios of `make load`."""
    return {
        PREDICT: [ask.http for ask in traffic.scoring(0.0)],
        MIXED: [ask.http for ask in traffic.mixed(0.0)],
    }


def _teach(service: Service) -> None:
    """Let the tenants of both scenarios have learnt something."""
    service.is_ready()
    for asks in (traffic.scoring(0.0), traffic.mixed(0.0)):
        taught = [Request(ask.http) for ask in traffic.teaching(asks, TAUGHT)]
        done(ClosedLoop(port=service.port, requests=taught, connections=32))
