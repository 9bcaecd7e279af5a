"""The benchmark of retractions: its logs, its targets, and the smallest real run."""

from itertools import chain
from pathlib import Path

import msgspec
import pytest

from load_tests.harness.jobs import Done, Percentiles
from load_tests.harness.sizes import FULL, QUICK, Sizes
from load_tests.service.results import retraction_targets
from load_tests.service.retractions import BATCH, Case, Retractions, cases, measure_retractions

SMALL = Sizes(repeats=1, snapshot_seconds=1.5, large_features=1000, tail_events=40, newest_labels=5, hour_events=100)
QUIET = Percentiles(0.2, 0.5, 1.0, 2.0)


def found(newest: float, hour: float, p99: float) -> Retractions:
    first, second = cases(FULL)
    seconds = {first.name: [0.1, newest], second.name: [hour, 0.1]}
    return Retractions((first, second), seconds, QUIET, Percentiles(0.2, p99, 3.0, 4.0))


def test_the_full_run_has_the_sizes_of_the_targets() -> None:
    newest, hour = cases(FULL)
    assert (newest.labels, len(newest.careless), newest.careless.stop) == (10_000, 1000, 10_000)
    assert (hour.labels, len(hour.careless), hour.careless.start) == (50_000, 5000, 40_000)
    assert list(hour.snapshots) == [5000, 15_000, 25_000, 35_000, 45_000]


@pytest.mark.parametrize("case", [*cases(FULL), *cases(QUICK), Case("odd", BATCH + 3, range(1), range(7, 9))])
def test_every_label_is_sent_once_and_a_batch_ends_where_a_snapshot_is_taken(case: Case) -> None:
    assert list(chain(*case.batches)) == list(range(case.labels))
    assert max(map(len, case.batches)) <= BATCH
    assert set(case.snapshots) <= {batch.stop for batch in case.batches}


@pytest.mark.parametrize(
    ("measured", "met"),
    [
        (found(2.0, 10.0, 1.0), [True, True, True]),
        (found(2.1, 10.0, 1.0), [False, True, True]),
        (found(2.0, 10.1, 1.1), [True, False, False]),
    ],
)
def test_the_slowest_retraction_and_the_p99_during_them_are_compared_with_the_targets(
    measured: Retractions, met: list[bool]
) -> None:
    targets = retraction_targets(measured, FULL.large_features)
    assert [target.met for target in targets] == met
    assert targets[0].text == "Retracting the newest 1,000 labels of a tenant of 1,000,000 features"
    assert "5,000 of the last 10,000 labels of 50,000" in targets[1].text


def test_latencies_of_a_time_are_those_of_the_requests_that_were_sent_in_it() -> None:
    done = Done(4, 1.0, 1.0, 0.1, {"a": [0.4, 0.3, 0.2, 0.1]}, sent={"a": [13.0, 11.0, 12.0, 10.0]})
    assert done.latencies_between(11.0, 13.0, "a").tolist() == [0.3, 0.2]
    assert done.latencies_between(11.0, 13.0).tolist() == []
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(done), type=Done) == done


@pytest.mark.timeout(120)
@pytest.mark.e2e
def test_labels_are_taken_back_in_a_real_service(tmp_path: Path) -> None:
    measured = measure_retractions(tmp_path, SMALL)
    assert [len(seconds) for seconds in measured.seconds.values()] == [1, 1]
    assert measured.quiet.p50 > 0
