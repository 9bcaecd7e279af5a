"""Retries of old feedback: beside new feedback, and what other tenants notice of them."""

import time
from dataclasses import dataclass
from pathlib import Path

from load_tests.harness import traffic
from load_tests.harness.client import run
from load_tests.harness.jobs import ClosedLoop, ConstantRate, Percentiles, Request, percentiles_of
from load_tests.harness.processes import Service
from load_tests.harness.sizes import CONNECTIONS, EXAMPLES, Sizes
from load_tests.scale.load import Measured
from load_tests.service.routes import Load, Series, measure

RETRIED, OTHER = "retried", "other"
CLIENTS = 20
PER_SECOND = 300.0
KEPT_SECONDS = 1.0  # until the outcomes of the last labels are kept

FRESH, RETRY = "/feedback, durable", "a retry of it, after a restart"
PREDICT = "/predict on another tenant"


@dataclass(frozen=True, slots=True)
class Retries:
    """New feedback and retries in turns, and predictions of another tenant without and with retrying clients."""

    loads: dict[str, Series]
    quiet: Percentiles
    disturbed: Percentiles


def measure_retries(folder: Path, sizes: Sizes) -> Retries:
    examples = traffic.examples(EXAMPLES)
    retries = _with_ids(examples)
    with Measured(folder).running() as service:
        run(ClosedLoop(port=service.port, requests=retries, connections=CONNECTIONS))
        time.sleep(KEPT_SECONDS)
        service.restart()  # no outcome is left in memory
        requests = {FRESH: traffic.feedbacks(examples, RETRIED), RETRY: retries}
        loads: dict[str, Series] = {name: [] for name in requests}
        for _ in range(sizes.rounds):
            for name, some in requests.items():
                job = ClosedLoop(port=service.port, requests=some, connections=CONNECTIONS, seconds=sizes.load_seconds)
                loads[name].append(measure(Load(service, job)))
                time.sleep(KEPT_SECONDS)
        predicts = {PREDICT: traffic.predicts(examples, OTHER)}
        quiet, disturbed = [], []
        for _ in range(sizes.repeats):
            quiet.append(run(_at_rate(service, predicts, sizes)))
            disturbed.append(run(_at_rate(service, predicts | {RETRY: retries}, sizes)))
        return Retries(loads, percentiles_of(quiet, PREDICT), percentiles_of(disturbed, PREDICT))


def _at_rate(service: Service, kinds: dict[str, list[Request]], sizes: Sizes) -> ConstantRate:
    seconds = sizes.snapshot_seconds
    return ConstantRate(port=service.port, kinds=kinds, per_second=PER_SECOND, seconds=seconds, connections=CLIENTS)


def _with_ids(examples: list[bytes]) -> list[Request]:
    """Feedback that is the same each time it is sent."""
    form = b'{"tenant":"%b","features":%b,"label":%d,"feedback_id":"retried-%d"}'
    bodies = (form % (RETRIED.encode(), each, 1 if k % 4 else -1, k) for k, each in enumerate(examples))
    return [Request(traffic.post("/feedback", body)) for body in bodies]
