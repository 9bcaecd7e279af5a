"""Labels of a large tenant that are taken back: how long it takes, and what other tenants notice of it."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, pairwise
from pathlib import Path

import msgspec
import numpy as np

from load_tests.harness import traffic
from load_tests.harness.client import BadAnswer, run
from load_tests.harness.jobs import ConstantRate, Percentiles, percentiles, percentiles_of
from load_tests.harness.sizes import EXAMPLES, Sizes
from load_tests.scale.load import Measured
from load_tests.service.retries import PREDICT

OTHER = "other"
CARELESS, CAREFUL = "careless", "careful"  # moderators
BATCH = 500
PER_SECOND = 300.0
BEFORE_SECONDS = 1.0  # of traffic before the retraction, with the start of the client
WARM_UP_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Case:
    """A log behind an import: how many labels, which of them are taken back, and behind which are snapshots."""

    name: str
    labels: int
    careless: range
    snapshots: range = range(0)

    @property
    def batches(self) -> list[range]:
        """The labels in parts that are sent together; one ends at each snapshot, and before the careless ones."""
        ends = {*range(0, self.labels, BATCH), *self.snapshots, self.careless.start, self.labels}
        return [range(begin, end) for begin, end in pairwise(sorted(ends))]


@dataclass(frozen=True, slots=True)
class Retractions:
    """Seconds of several retractions by case, and predictions of another tenant without and during them."""

    cases: tuple[Case, ...]
    seconds: dict[str, list[float]]
    quiet: Percentiles
    disturbed: Percentiles


def cases(sizes: Sizes) -> tuple[Case, ...]:
    """The newest labels when a snapshot is nearly due; and every second one of the last fifth of a log.

    The log has snapshots at the distance of the default setting, the last of them in the middle of that fifth.
    """
    tail, events, fifth = sizes.tail_events, sizes.hour_events, sizes.hour_events // 5
    return (
        Case("the newest", tail, range(tail - sizes.newest_labels, tail)),
        Case("the last hour's", events, range(events - fifth, events, 2), range(fifth // 2, events, fifth)),
    )


def measure_retractions(folder: Path, sizes: Sizes) -> Retractions:
    """Constant traffic on another tenant, in turns without and with a retraction."""
    predicts = {PREDICT: traffic.predicts(traffic.examples(EXAMPLES), OTHER)}
    found = cases(sizes)
    seconds: dict[str, list[float]] = {case.name: [] for case in found}
    quiet, disturbed = [], []
    with Measured(folder).running() as service:
        job = ConstantRate(port=service.port, kinds=predicts, per_second=PER_SECOND, seconds=sizes.snapshot_seconds)
        run(msgspec.structs.replace(job, seconds=WARM_UP_SECONDS))
        for number in range(sizes.repeats):
            for place, case in enumerate(found):
                tenant = f"large-{place}-{number}"  # a new one: the log is as long each time
                since = _teach(service, tenant, case, sizes.large_features)
                quiet.append(run(job))
                with ThreadPoolExecutor(1) as beside:
                    retraction = beside.submit(_retract, service, tenant, since, len(case.careless))
                    done = run(job)
                    begin, end = retraction.result()
                seconds[case.name].append(end - begin)
                disturbed.append(done.latencies_between(begin, end, PREDICT))
    return Retractions(found, seconds, percentiles_of(quiet, PREDICT), percentiles(np.concatenate(disturbed)))


def _teach(service: Measured, tenant: str, case: Case, features: int) -> str:
    """Import a model, and give it the labels of a case; return a time before the first one that is taken back."""
    service.import_model(tenant, features)
    labelled = cycle(traffic.labelled(traffic.examples(EXAMPLES, features)))
    since = ""
    form = b'{"label":%d,"features":%b,"moderator":"%b"}'
    for batch in case.batches:
        moderators = (CARELESS if number in case.careless else CAREFUL for number in batch)
        items = [form % (label, given, by.encode()) for by, (given, label) in zip(moderators, labelled, strict=False)]
        body = b'{"tenant":"%b","items":[%b]}' % (tenant.encode(), b",".join(items))
        service.call("POST", "/feedback/batch", body)
        if batch.stop in case.snapshots:
            service.call("POST", f"/tenants/{tenant}/snapshot")
        since = since or datetime.now(UTC).isoformat()  # the log must reach back to it
    return since


def _retract(service: Measured, tenant: str, since: str, labels: int) -> tuple[float, float]:
    """Take back the labels of the careless moderator; return when that began and ended."""
    time.sleep(BEFORE_SECONDS)
    body = msgspec.json.encode({"moderator": CARELESS, "since": since, "reason": "careless"})
    begin = time.monotonic()
    answer = service.call("POST", f"/tenants/{tenant}/retract", body)
    end = time.monotonic()
    if msgspec.json.decode(answer)["retracted"] != labels:
        raise BadAnswer(answer)
    return begin, end
