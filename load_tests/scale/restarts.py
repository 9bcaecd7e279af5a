"""A restart against the length of the log behind the newest snapshot."""

import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from load_tests.harness import traffic
from load_tests.harness.client import call as ask_well
from load_tests.harness.processes import Service, ended
from load_tests.scale.figures import Figure
from load_tests.scale.requests import NEVER, body, import_model, predict
from load_tests.scale.results import TailFound
from load_tests.scale.sizes import Sizes
from load_tests.scale.watching import store_bytes

TENANT = "restarted"
FEATURES = 100_000  # in the model
EXAMPLES = 2500  # each comes with either label
BATCH = 500
FIRST = body(predict(TENANT, b'{"token:w0":1}'))


def measure(folder: Path, sizes: Sizes) -> list[TailFound]:
    """One tenant whose log grows; it takes no snapshot but that of the import."""
    service = Service(folder, **NEVER)
    with ended(service.start()):
        service.is_ready()
        import_model(service, TENANT, FEATURES)
        batches, found = _batches(), []
        for before, events in zip((0, *sizes.tails), sizes.tails, strict=False):
            for batch in islice(batches, (events - before) // BATCH):
                ask_well(service.port, "POST", "/feedback/batch", batch)
            found.append(_measured(service, events, sizes.starts))
    return found


def _measured(service: Service, events: int, starts: int) -> TailFound:
    used = store_bytes(service)
    taken = [_restart(service) for _ in range(starts)]
    ready, first = (Figure(list(some)) for some in zip(*taken, strict=True))
    return TailFound(events, ready, first, used)


def _restart(service: Service) -> tuple[float, float]:
    """Kill, and start: seconds to ready, and to the tenant's first answer."""
    service.kill()
    start = time.perf_counter()
    service.start()
    service.is_ready()
    ready = time.perf_counter() - start
    ask_well(service.port, "POST", "/predict", FIRST)
    return ready, time.perf_counter() - start


def _batches() -> Iterator[bytes]:
    requests = traffic.feedback_batches(traffic.examples(EXAMPLES, FEATURES), TENANT, BATCH)
    return cycle([body(request.head) for request in requests])
