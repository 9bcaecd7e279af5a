import time

import pytest

from load_tests.quality import playing
from load_tests.quality.jobs import Unit
from load_tests.quality.pool import Clock, told
from load_tests.quality.rows import Curve, Facts, Row
from load_tests.quality.sizes import NATURAL, POINTS, QUICK, RARE
from load_tests.quality.sources import Source

from .contenders import Oracle, noise


def test_the_best_setting_is_taken() -> None:
    (row,) = playing.natural(Oracle(), noise(1000), {"all": 1000})
    assert (row.setting, row.mean("error"), row.mean("sparsity")) == ({"right": 1.0}, 0.0, 0.5)


def test_a_stream_that_is_a_beginning_of_another_is_not_played_again() -> None:
    oracle = Oracle()
    whole, beginning = playing.natural(oracle, noise(1000), {"all": 1000, "beginning": 300})
    assert oracle.lengths == [1000]
    assert (whole.examples, beginning.examples) == (1000, 300)
    assert beginning.mean("sparsity") is None


def test_a_setting_may_be_chosen_on_the_beginning() -> None:
    oracle = Oracle(tuned_on=100)
    (row,) = playing.natural(oracle, noise(1000), {"all": 1000})
    assert (oracle.lengths, row.setting) == ([100, 1000], {"right": 1.0})


def test_whoever_has_a_limit_gets_no_more() -> None:
    (row,) = playing.natural(Oracle(limit=200), noise(1000), {"all": 1000})
    assert row.examples == 200


def test_every_seed_is_a_run_at_one_setting() -> None:
    row = playing.rare(Oracle(), noise(4000), "all", seeds=(1, 2, 3))
    assert (len(row.runs), row.setting) == (3, {"right": 0.9})
    spread, mean = row.spread("balanced"), row.mean("balanced")
    assert spread is not None
    assert mean is not None
    assert mean == pytest.approx(0.9, abs=0.1)


def test_cold_starts_are_windows_of_the_stream() -> None:
    stream = noise(5000)
    found = playing.windows(stream, NATURAL, QUICK)
    assert [len(window) for window in found] == [POINTS[NATURAL][-1]] * QUICK.starts[NATURAL]
    curve = playing.cold(Oracle(), found, "all", {"right": 1.0}, NATURAL)
    assert curve.values == [1.0] * len(POINTS[NATURAL])


def test_cold_starts_with_rare_anomalies_are_windows_of_samples() -> None:
    found = playing.windows(noise(8000), RARE, QUICK)
    assert len(found) == QUICK.starts[RARE]
    assert all((window.labels > 0).mean() < 0.03 for window in found)


def test_a_unit_plays_everything_over_one_stream() -> None:
    unit = Unit(Source("none", "url", {"long": 5000, "short": 3000}), [Oracle()], QUICK)
    unit.stream = noise(5000)
    jobs = unit.jobs()
    found = [each for job in jobs for each in job.run()]
    assert all(job.seconds > 0 for job in jobs)
    assert [each.stream for each in found if isinstance(each, Facts)] == ["long", "short"]
    assert [(each.stream, each.ratio) for each in found if isinstance(each, Row)] == [
        ("long", NATURAL), ("short", NATURAL), ("long", RARE), ("short", RARE),
    ]  # fmt: skip
    assert [each.ratio for each in found if isinstance(each, Curve)] == [NATURAL, RARE]


def test_what_is_left_is_guessed_from_what_is_done() -> None:
    now = time.monotonic()
    assert Clock(whole=100.0, done=25.0, started=now - 10.0).left(now) == pytest.approx(30.0)
    assert Clock(whole=100.0, started=now).left(now) is None
    assert (told(None), told(30.0), told(600.0)) == ("", "; about 30 s left", "; about 10 min left")
