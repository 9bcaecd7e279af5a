"""Rate windows, of one worker and of several."""

import multiprocessing
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.api.context import CONTEXT, RequestContext
from app.api.errors import TooManyRequests
from app.api.middleware.rate_limit import RateLimiter
from app.auth.errors import TooManyLabels
from app.auth.label_rate import LabelRates
from app.auth.rate_windows import LINE, WAYS, OwnRateWindows, RateWindows, SharedRateWindows, rate_windows
from app.telemetry.counters import Requests

MOST = 64
Making = Callable[[Path], RateWindows]
each_kind = pytest.mark.parametrize(
    "make",
    [lambda _: OwnRateWindows(MOST), lambda folder: SharedRateWindows(folder / "buckets", MOST)],
    ids=["own", "shared"],
)


@each_kind
def test_a_window_is_found_until_it_is_replaced(make: Making, tmp_path: Path) -> None:
    remembered = make(tmp_path)
    assert remembered.get("kim") is None
    remembered.put("kim", 5.0, 1.0, 0.0)
    remembered.put("lee", 6.0, 2.0, 0.0)
    remembered.put("kim", 7.0, 3.0, 0.0)
    assert (remembered.get("kim"), remembered.get("lee"), len(remembered)) == ((7.0, 3.0), (6.0, 2.0), 2)


@each_kind
def test_the_number_of_windows_is_limited_and_the_newest_is_kept(make: Making, tmp_path: Path) -> None:
    remembered = make(tmp_path)
    for number in range(20 * MOST):
        remembered.put(f"caller-{number}", number + 10.0, 0.0, float(number))
        assert remembered.get(f"caller-{number}") == (number + 10.0, 0.0)
    assert len(remembered) <= MOST


@each_kind
@pytest.mark.parametrize("who", ["", "\0", "acme\0kim", "é\udcff", "x" * 10_000])
def test_any_string_is_a_valid_name(make: Making, tmp_path: Path, who: str) -> None:
    remembered = make(tmp_path)
    remembered.put(who, 5.0, 1.0, 0.0)
    assert remembered.get(who) == (5.0, 1.0)


def test_a_full_set_drops_the_window_that_ends_first(tmp_path: Path) -> None:
    remembered = SharedRateWindows(tmp_path / "buckets", WAYS)  # one set
    for number in range(WAYS):
        remembered.put(str(number), 100.0 - number, 0.0, 0.0)
    remembered.put("another", 200.0, 0.0, 0.0)
    assert [number for number in range(WAYS) if remembered.get(str(number)) is None] == [WAYS - 1]


def test_workers_with_the_same_folder_share_and_others_do_not(tmp_path: Path) -> None:
    one, other = (rate_windows(tmp_path, "rate", MOST) for _ in range(2))
    one.put("kim", 5.0, 1.0, 0.0)
    assert other.get("kim") == (5.0, 1.0)
    assert rate_windows(tmp_path, "labels", MOST).get("kim") is None
    assert rate_windows(None, "rate", MOST).get("kim") is None
    assert (tmp_path / "rate.buckets").stat().st_mode & 0o077 == 0


def scope() -> dict[str, Any]:
    return {"path": "/predict", "client": ("10.0.0.1", 1), CONTEXT: RequestContext()}


def test_several_workers_count_together(tmp_path: Path) -> None:
    limiters = [RateLimiter(3, Requests(), rate_windows(tmp_path, "rate", MOST), lambda: 9.0) for _ in range(3)]
    for limiter in limiters:
        limiter.take(scope())
    with pytest.raises(TooManyRequests):
        limiters[0].take(scope())
    rates = [LabelRates(2, lambda: 9.0, rate_windows(tmp_path, "labels", MOST)) for _ in range(3)]
    for rate in rates[:2]:
        rate.take("acme", "kim")
    with pytest.raises(TooManyLabels):
        rates[2].take("acme", "kim")


def test_a_torn_write_blocks_no_caller(tmp_path: Path) -> None:
    file = tmp_path / "rate.buckets"
    limiter = RateLimiter(1, Requests(), now=lambda: 9.0, callers=rate_windows(tmp_path, "rate", WAYS))
    rates = LabelRates(1, lambda: 9.0, rate_windows(tmp_path, "rate", WAYS))
    limiter.take(scope())
    rates.take("acme", "kim")
    for torn in (1e300, float("nan"), float("inf"), -1e300):
        lines = [LINE.unpack_from(file.read_bytes(), place * LINE.size)[0] for place in range(WAYS)]
        with file.open("r+b") as table:
            table.write(b"".join(LINE.pack(name, torn, 9e9) for name in lines))
        limiter.take(scope())
        rates.take("acme", "kim")


def _write(file: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - any callers will do
    remembered = SharedRateWindows(file, MOST)
    for _ in range(20_000):
        remembered.put(str(chance.randrange(100)), chance.random(), 1.0, 0.0)


def test_concurrent_writers_leave_a_valid_table(tmp_path: Path) -> None:
    file = tmp_path / "buckets"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(file, seed)) for seed in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    remembered = SharedRateWindows(file, MOST)
    found = [remembered.get(str(number)) for number in range(100)]
    assert all(0.0 <= each[0] <= 1.0 and each[1] == 1.0 for each in found if each is not None)
    assert len(remembered) == MOST
