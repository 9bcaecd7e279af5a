import numpy as np
import pytest

from experiments.sets.rare import rare
from load_tests.quality.sampling import starts
from load_tests.quality.stream import Stream

LABELS = np.where(np.random.default_rng(0).random(5000) < 0.4, 1.0, -1.0)


def test_one_in_a_hundred_is_an_anomaly() -> None:
    chosen = LABELS[rare(LABELS, seed=1)]
    assert (chosen > 0).mean() == pytest.approx(0.01, abs=2e-4)


def test_every_normal_example_is_kept_and_the_order_too() -> None:
    chosen = rare(LABELS, seed=1)
    assert set(np.flatnonzero(LABELS < 0)) <= set(chosen)
    assert (np.diff(chosen) > 0).all()


def test_a_seed_gives_its_own_sample_again() -> None:
    assert (rare(LABELS, 1) == rare(LABELS, 1)).all()
    assert set(rare(LABELS, 1)) != set(rare(LABELS, 2))


def test_fewer_anomalies_than_wanted_are_all_taken() -> None:
    labels = np.array([1.0, *[-1.0] * 500])
    assert rare(labels, 1).size == 501


def test_windows_start_where_they_have_room() -> None:
    found = starts(1000, window=400, count=50, seed=0)
    assert found.size == 50
    assert found.min() >= 0
    assert found.max() <= 600
    assert starts(10, window=400, count=3, seed=0).tolist() == [0, 0, 0]


def stream() -> Stream:
    """Four examples with the keys 1 2, none, 2 3 4, 1."""
    return Stream(
        np.array([0, 2, 2, 5, 6]),
        np.array([1, 2, 2, 3, 4, 1], np.uint64),
        np.arange(6.0),
        np.array([1.0, -1.0, 1.0, -1.0]),
        [b"a", b"b", b"c", b"d"],
    )


def unpacked(given: Stream) -> list[tuple[float, dict[int, float]]]:
    return [
        (label, dict(zip(given.keys[a:b].tolist(), given.values[a:b].tolist(), strict=True)))
        for label, a, b in zip(given.labels.tolist(), given.starts[:-1], given.starts[1:], strict=True)
    ]


def test_a_part_has_the_examples_that_are_named() -> None:
    whole = unpacked(stream())
    part = stream().part(np.array([2, 1, 3]))
    assert unpacked(part) == [whole[2], whole[1], whole[3]]
    assert part.raws == [b"c", b"b", b"d"]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 99])
def test_the_first_are_a_part(count: int) -> None:
    first = stream().first(count)
    assert unpacked(first) == unpacked(stream())[:count]
    assert list(first.raws) == list(stream().raws)[:count]


def test_features_are_numbered_without_gaps() -> None:
    columns, features = stream().columns()
    assert features == 4
    assert columns.tolist() == [0, 1, 1, 2, 3, 0]


def test_features_of_one_example_are_left_out() -> None:
    found = unpacked(stream().without_singletons())
    assert found == [(1.0, {1: 0.0, 2: 1.0}), (-1.0, {}), (1.0, {2: 2.0}), (-1.0, {1: 5.0})]
