"""Constant traffic around a large tenant, with and without a snapshot of it in the middle."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec
import numpy as np

from load_tests.harness import traffic
from load_tests.harness.client import call as ask_well
from load_tests.harness.client import run as done
from load_tests.harness.jobs import ConstantRate, Done
from load_tests.harness.processes import Service
from load_tests.service.large_tenant import LARGE
from load_tests.service.runs import Percentiles, percentiles
from load_tests.service.sizes import Sizes

PER_SECOND = 300.0
EXAMPLES = 1000
BEFORE_SECONDS = 1.0  # of traffic, the start of the client included, before the snapshot is asked for
WARM_UP_SECONDS = 1.0  # a new tenant, and the first feedback after a start
OTHER = "other"

PREDICT, ELSEWHERE, FEEDBACK = "/predict on it", "/predict on another tenant", "/feedback on it"


@dataclass(frozen=True, slots=True)
class Stalls:
    """Latencies of each kind of request in both cases, and how long the snapshots took."""

    quiet: dict[str, Percentiles]
    with_snapshot: dict[str, Percentiles]
    snapshot_seconds: list[float]

    @property
    def worst(self) -> float:
        """The longest that a request took while snapshots were taken, in milliseconds."""
        return max(each.worst for each in self.with_snapshot.values())

    @property
    def worst_quiet(self) -> float:
        """The longest that a request took otherwise, in milliseconds."""
        return max(each.worst for each in self.quiet.values())


def measure(service: Service, sizes: Sizes) -> Stalls:
    """Both cases in turns."""
    job = _job(service, sizes)
    done(msgspec.structs.replace(job, seconds=WARM_UP_SECONDS))
    quiet, disturbed, taken = [], [], []
    for _ in range(sizes.traffic_rounds):
        quiet.append(done(job))
        found, seconds = _with_snapshot(service, job)
        disturbed.append(found)
        taken.append(seconds)
    return Stalls(_together(quiet), _together(disturbed), taken)


def _with_snapshot(service: Service, job: ConstantRate) -> tuple[Done, float]:
    with ThreadPoolExecutor(1) as beside:
        taking = beside.submit(_snapshot_seconds, service)
        return done(job), taking.result()


def _snapshot_seconds(service: Service) -> float:
    time.sleep(BEFORE_SECONDS)
    start = time.perf_counter()
    ask_well(service.port, "POST", f"/tenants/{LARGE}/snapshot")
    return time.perf_counter() - start


def _together(runs: list[Done]) -> dict[str, Percentiles]:
    return {kind: percentiles(np.concatenate([run.latencies(kind) for run in runs])) for kind in runs[0].packed}


def _job(service: Service, sizes: Sizes) -> ConstantRate:
    examples = traffic.examples(EXAMPLES, sizes.features)
    kinds = {
        PREDICT: traffic.predicts(examples, LARGE),
        ELSEWHERE: traffic.predicts(examples, OTHER),
        FEEDBACK: traffic.feedbacks(examples, LARGE),
    }
    return ConstantRate(port=service.port, kinds=kinds, per_second=PER_SECOND, seconds=sizes.traffic_seconds)
