"""Which snapshots stay."""

from app.storage.snapshots import ladder


def test_the_last_ones_stay_and_few_from_long_ago() -> None:
    kept: list[int] = []
    for version in range(10, 3000, 10):
        kept = [version, *ladder(kept, version, 3, 1000)]
        assert len(kept) <= 10
        assert kept == sorted(kept, reverse=True)
        assert kept[:3] == [each for each in (version, version - 10, version - 20) if each > 0]
        for age in range(1, min(version - 10, 500)):
            replayed = version - max(each for each in kept if each <= version - age)
            assert replayed <= 3 * age + 30, f"a label of age {age} needs {replayed} events: {kept}"


def test_those_beyond_the_log_go() -> None:
    assert ladder([90, 80, 70, 40, 10], 100, 3, 50) == [90, 80, 70]
    assert ladder([90, 80, 70, 60, 50, 10], 100, 3, 1000) == [90, 80, 50, 10]
    assert ladder([], 100, 3, 1000) == []
    assert ladder([90], 100, 1, 0) == []
