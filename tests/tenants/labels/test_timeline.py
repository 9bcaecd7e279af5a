"""Labels over time: as a naive reading of the labels finds it, whatever was read before."""

import math
from pathlib import Path

import numpy as np
import pytest

from app.learning.drift import ClassDrift, Drift
from app.learning.events import Served
from app.learning.honest.figures import HonestRates, rates_of
from app.storage.client import connect
from app.storage.event_log import EventLog
from app.tenants.labels.label_history import COLUMNS, LabelHistories, LabelHistory, SettingsChange
from app.tenants.labels.stored_labels import LabelFilter, StoredLabel, latest_labels, version_at
from app.tenants.labels.timeline import DAY, HOUR, MINUTE, DriftFound, Mark, Period, timeline_of
from app.tenants.tenant import Feedback
from kernels.evaluation import honest
from tests.servers import Server
from tests.tenants.labels.helpers import NAME, retract
from tests.tenants.workers import feedback, give, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
NOW = 1_794_992_400_000
CALM = ClassDrift(0, 0, 0, None, None)
NOTHING = DriftFound(Drift(CALM, CALM), 0, 0)
Row = tuple[int, int, int, int, int, float, int]


@pytest.fixture
def _empty(store: Server) -> None:
    store.flush_all()


def history(rows: list[Row], *changes: SettingsChange) -> LabelHistory:
    return LabelHistory(len(rows), is_complete=True, labels=np.array(rows, COLUMNS), changes=changes)


def random_rows(count: int, seed: int, span: int = 40 * DAY) -> list[Row]:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(NOW - span, NOW, count)).tolist()
    return [
        (
            version,
            at,
            int(rng.choice([-1, 1])),
            int(rng.choice([-1, 0, 1])),
            0 if rng.random() < 0.3 else at - int(rng.integers(-5, 90_000)),
            0.0 if rng.random() < 0.4 else float(rng.choice([0.01, 0.25, 1.0])),
            version,
        )
        for version, at in enumerate(times, 1)
    ]


def naive(rows: list[Row], since: int, until: int) -> tuple[int, int, list[int], HonestRates, list[float]]:
    """The labels of a period, one by one."""
    anomalies = normal = 0
    cells, sums, delays = [0, 0, 0, 0], honest.new_sums(), []
    for _, at, label, served, served_at, chosen_with, _ in rows:
        if not since <= at < until:
            continue
        anomalies += label > 0
        normal += label < 0
        if served:
            cells[2 * (label > 0) + (served > 0)] += 1
            if chosen_with:
                honest.add(sums, float(label), float(served), 1.0 / chosen_with)
        if served_at:
            delays.append(max(at - served_at, 0) / 1000)
    return anomalies, normal, cells, rates_of(sums[honest.EVER]), sorted(delays)


def agrees(period: Period, rows: list[Row]) -> None:
    anomalies, normal, cells, rates, delays = naive(rows, period.since, period.until)
    assert (period.anomalies, period.normal) == (anomalies, normal)
    served = period.served
    assert [
        served.true_negatives, served.false_positives, served.false_negatives, served.true_positives
    ] == cells  # fmt: skip
    assert period.honest == rates
    assert period.delay.labels == len(delays)
    if delays:
        assert period.delay.median_seconds == delays[math.ceil(0.5 * len(delays)) - 1]
        assert period.delay.p90_seconds == delays[math.ceil(0.9 * len(delays)) - 1]
    else:
        assert (period.delay.median_seconds, period.delay.p90_seconds) == (None, None)


@pytest.mark.parametrize("most", [1, 7, 60, 400])
@pytest.mark.parametrize("seed", range(4))
def test_every_period_is_what_a_naive_count_finds(seed: int, most: int) -> None:
    rows = random_rows(700, seed)
    since = (None, NOW - 30 * DAY, NOW - 3 * HOUR, NOW - 90 * DAY)[seed]
    found = timeline_of(history(rows), since, NOW, most, NOTHING)
    assert len(found.periods) <= most
    for period in (*found.periods, found.whole):
        agrees(period, rows)
    assert (found.whole.since, found.whole.until) == (since or rows[0][1], NOW)
    assert found.periods[0].since <= found.whole.since
    assert found.periods[-1].until >= NOW
    for earlier, later in zip(found.periods, found.periods[1:], strict=False):
        assert earlier.until == later.since
    assert {each.until - each.since for each in found.periods} == {found.width_milliseconds}
    assert all(each.since % found.width_milliseconds == 0 for each in found.periods)


@pytest.mark.parametrize(
    ("span", "most", "width"),
    [
        (90_000, 400, 1000),
        (DAY, 48, 30 * MINUTE),
        (7 * DAY, 60, 3 * HOUR),
        (30 * DAY, 31, DAY),
        (3000 * DAY, 2, 2912 * DAY),
    ],
)
def test_periods_have_a_round_width_that_people_know(span: int, most: int, width: int) -> None:
    until = NOW // DAY * DAY
    assert timeline_of(history([]), until - span, until, most, NOTHING).width_milliseconds == width


def test_without_labels_there_is_an_empty_day() -> None:
    found = timeline_of(history([]), None, NOW, 24, NOTHING)
    assert found.whole.since == NOW - DAY
    assert (found.first_milliseconds, found.labels, found.marks) == (None, 0, [])
    assert found.whole.served.balanced_accuracy is None
    assert found.whole.honest.balanced_accuracy.value is None
    assert found.whole.honest.balanced_accuracy.reason == "no label of a chosen item yet"


def test_a_mark_is_at_the_label_at_which_drift_was_found() -> None:
    rows = [(version, NOW - DAY + 1000 * version, 1, 1, 0, 0.0, version) for version in range(1, 101)]
    drift = Drift(
        anomaly=ClassDrift(1, 0, 20, 0.5, last_worse_at=1080), normal=ClassDrift(1, 0, 20, 0.5, last_worse_at=900)
    )
    change = SettingsChange(50, NOW - DAY + 50_500, ("eta",))
    found = timeline_of(history(rows, change), None, NOW, 10, DriftFound(drift, version=100, labels=1100))
    assert found.marks == [
        Mark(NOW - DAY + 50_500, "settings", ("eta",)),
        Mark(NOW - DAY + 80_000, "drift", ("anomaly",)),  # the 20 newest labels came later; the other one is too old
    ]


async def read_naively(url: str) -> list[StoredLabel]:
    connection = connect(url)
    found = [
        label async for label, gone in latest_labels(EventLog(connection, 60), NAME, LabelFilter()) if gone is None
    ]
    await connection.aclose()
    return found[::-1]


@pytest.mark.usefixtures("_empty")
async def test_a_history_that_is_brought_up_to_date_is_the_one_that_is_read_anew(store: Server, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    async with worker(store.url, tmp_path) as tenants:
        connection = connect(store.url)
        log = EventLog(connection, 60)
        kept = LabelHistories(log)
        standing, number = list[str](), 0
        for turn in range(10):
            for _ in range(int(rng.integers(1, 200))):
                await give(tenants, NAME, served(number))
                standing.append(f"id-{number}")
                number += 1
            if turn % 3 == 1:
                await tenants.configure(NAME, {"threshold": 0.1 * turn})
            if turn % 2:
                gone = set(rng.choice(standing, 3, replace=False).tolist())
                await retract(tenants, *gone)
                standing = [each for each in standing if each not in gone]
            tenant = await tenants.hold(NAME)
            found, anew = (
                await kept.read(NAME, tenant.incarnation),
                await LabelHistories(log).read(NAME, tenant.incarnation),
            )
            assert found.labels.tobytes() == anew.labels.tobytes()
            assert (found.version, found.is_complete, found.changes) == (anew.version, anew.is_complete, anew.changes)
            labels = await read_naively(store.url)
            assert found.labels["version"].tolist() == [label.version for label in labels]
            assert found.labels["label"].tolist() == [label.label for label in labels]
            assert found.labels["served"].tolist() == [label.served_label or 0 for label in labels]
            assert found.labels["chosen_with"].tolist() == [label.chosen_with or 0.0 for label in labels]
            assert found.is_complete
        await connection.aclose()


@pytest.mark.usefixtures("_empty")
async def test_only_the_newest_labels_are_kept(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        connection = connect(store.url)
        histories = LabelHistories(EventLog(connection, 60), most_labels=150)
        for first in (0, 200, 210, 500):
            await give(tenants, NAME, *(served(number) for number in range(first, first + 200)))
            tenant = await tenants.hold(NAME)
            found = await histories.read(NAME, tenant.incarnation)
            assert found.labels["version"].tolist()[-150:] == list(range(found.version - 149, found.version + 1))
            assert not found.is_complete
        await connection.aclose()


@pytest.mark.usefixtures("_empty")
async def test_the_history_of_a_tenant_that_was_made_again_is_a_new_one(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(served(number) for number in range(30)))
        assert (await tenants.timeline(NAME, None, NOW * 2, 10)).labels == 30
        await tenants.delete(NAME)
        await give(tenants, NAME, *(served(number) for number in range(40, 45)))
        assert (await tenants.timeline(NAME, None, NOW * 2, 10)).labels == 5


@pytest.mark.usefixtures("_empty")
async def test_the_version_at_a_time_is_found_by_bisection(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(served(number) for number in range(37)))
        labels = await read_naively(store.url)
        connection = connect(store.url)
        log, last = EventLog(connection, 60), labels[-1].version
        for time in sorted({label.at_milliseconds + step for label in labels for step in (0, 1)} | {0, NOW * 2}):
            expected = max((label.version for label in labels if label.at_milliseconds < time), default=0)
            assert await version_at(log, NAME, last, time) == expected
        assert await version_at(log, "nobody", 0, NOW) == 0
        await connection.aclose()


def served(number: int) -> Feedback:
    """Feedback for a prediction, which a policy has chosen now and then."""
    given = feedback(number, f"id-{number}")
    return Feedback(
        given.label,
        given.example,
        given.feedback_id,
        served=Served(1 if number % 3 else -1, 0.5),
        served_at_milliseconds=NOW,
        chosen_with=0.25 if number % 2 else None,
    )
