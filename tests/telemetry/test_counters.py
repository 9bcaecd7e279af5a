import pytest

from app.telemetry.counters import Durations, Histogram


def test_buckets_are_cumulative() -> None:
    histogram = Histogram((0.0, 1.0))
    for value in (-1.0, 0.0, 0.5, 1.0, 7.0):
        histogram.observe(value)
    assert histogram.cumulative() == [("0.0", 2.0), ("1.0", 4.0), ("+Inf", 5.0)]
    assert histogram.total == pytest.approx(7.5)


def test_a_timing_has_a_sum_and_a_count() -> None:
    timing = Durations()
    timing.add(0.5)
    timing.add(1.0, count=10)
    assert (timing.seconds, timing.count) == (1.5, 11)
