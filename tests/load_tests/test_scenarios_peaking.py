from load_tests.harness.wrk import Peak
from load_tests.scenarios.peaking import middle, peaks


def test_a_peak_is_the_median_of_its_rounds_and_counts_every_failure() -> None:
    rounds = [Peak(8000.0, 3.0, 9.0, 1, 0.2), Peak(2000.0, 9.0, 40.0, 2, 0.1), Peak(7000.0, 4.0, 10.0, 0, 0.3)]
    assert middle(rounds) == Peak(7000.0, 4.0, 10.0, 3, 0.2)


def test_where_nobody_stays_there_are_no_peaks() -> None:
    said: list[str] = []
    assert peaks({}, 5, said.append) == ({}, {})
    assert said == []
