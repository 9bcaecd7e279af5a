"""The check of honest figures and targets, with few streams."""

import numpy as np
import pytest

from experiments.selective import coverage, relative, report, serve, serve_all


def test_honest_intervals_cover_the_truth_and_naive_ones_do_not() -> None:
    found = serve_all(range(40), 6000, target=False, changes=False, processes=1)
    assert coverage([each.covered for each in found]) >= 0.85
    assert coverage([each.naively_covered for each in found]) < 0.6
    assert abs(np.mean([each.honest_error for each in found if each.honest_error is not None])) < 0.03
    assert np.mean([each.naive_error for each in found if each.naive_error is not None]) < -0.04


def test_a_target_is_realised_also_after_a_change() -> None:
    found = serve_all(range(12), 20_000, target=True, changes=True, processes=1)
    assert relative(found, 1).mean() == pytest.approx(1.0, abs=0.15)


def test_a_stream_is_the_same_every_time() -> None:
    assert serve(3, 1000, target=True, changes=True) == serve(3, 1000, target=True, changes=True)


def test_what_is_missed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = serve_all(range(2), 1000, target=True, changes=True, processes=1)
    assert isinstance(report(found, found), list)
    assert "of the target in the mean of 2 streams" in capsys.readouterr().out
