"""Examples in memory, and sets on disk: the same in any order and in blocks of any size."""

from pathlib import Path

import numpy as np
import pytest

from experiments.examples import Examples, opened, rare, store
from experiments.paper.evaluation import Split
from experiments.preparation import TEST, TRAIN
from kernels.examples.canonical import canonical_batch
from tests.experiments.examples import batch, stored_set

LABELS = np.where(np.random.default_rng(0).random(5000) < 0.4, 1.0, -1.0)


def test_a_set_comes_back_as_it_was(tmp_path: Path) -> None:
    given = batch(50)
    store(given.split(7), tmp_path / "set")
    stored = opened(tmp_path / "set")
    starts, keys, values = canonical_batch(given.starts, given.keys, given.values, False, np.uint64(0))
    assert stored.starts.tolist() == starts.tolist()
    assert stored.keys.tolist() == keys.tolist()
    assert stored.values.tolist() == values.tolist()
    assert stored.labels.tolist() == given.labels.tolist()


def test_examples_are_scaled_to_length_one_unless_they_should_not_be(tmp_path: Path) -> None:
    split = Split.open(stored_set(tmp_path))
    (block,) = split.train.blocks(np.arange(10))
    assert np.linalg.norm(block.values.reshape(10, -1), axis=1) == pytest.approx(1.0)
    (raw,) = split.train.blocks(np.arange(10), l2=False)
    assert raw.values.tolist() == split.train.values[:80].tolist()


@pytest.mark.parametrize("nonzeros", [1, 8, 30, 10_000])
def test_pieces_of_any_size_hold_the_same_examples_in_the_order_asked_for(tmp_path: Path, nonzeros: int) -> None:
    stored = Split.open(stored_set(tmp_path)).train
    rows = np.random.default_rng(3).permutation(len(stored))[:40]
    blocks = list(stored.blocks(rows, nonzeros=nonzeros))
    (whole,) = stored.blocks(rows)
    assert max(block.keys.size for block in blocks) <= max(nonzeros, 8)
    assert np.concatenate([block.keys for block in blocks]).tolist() == whole.keys.tolist()
    assert np.concatenate([block.labels for block in blocks]).tolist() == stored.labels[rows].tolist()


def test_a_set_that_was_half_written_is_not_there(tmp_path: Path) -> None:
    def failing() -> object:
        yield batch(10)
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        store(failing(), tmp_path / "set")  # type: ignore[arg-type]
    assert not (tmp_path / "set").exists()
    store([batch(10)], tmp_path / "set")
    assert len(opened(tmp_path / "set")) == 10


def test_a_fifth_is_held_out_and_never_learnt(tmp_path: Path) -> None:
    split = Split.open(stored_set(tmp_path))
    assert split.test_rows.size == 120
    assert set(split.rows(0).tolist()) == set(range(600)) - set(split.test_rows.tolist())


def test_repeats_are_different_orders_of_the_same_examples_and_the_same_on_every_run(tmp_path: Path) -> None:
    split = Split.open(stored_set(tmp_path))
    assert split.rows(0).tolist() != split.rows(1).tolist()
    assert sorted(split.rows(0).tolist()) == sorted(split.rows(1).tolist())
    assert split.rows(1).tolist() == Split.open(tmp_path).rows(1).tolist()


def test_a_test_that_came_with_the_set_is_taken(tmp_path: Path) -> None:
    store([batch(30)], tmp_path / TRAIN)
    store([batch(7, seed=1)], tmp_path / TEST)
    split = Split.open(tmp_path)
    assert (split.rows(0).size, split.test_rows.size) == (30, 7)


def test_rare_anomalies_are_one_in_a_hundred_of_what_is_learnt_and_all_of_the_test(tmp_path: Path) -> None:
    store(batch(5_000).split(1_000), tmp_path / TRAIN)
    split, whole = Split.open(tmp_path, rare=True), Split.open(tmp_path)
    labels = split.train.labels[split.rows(0)]
    assert (labels > 0.0).mean() == pytest.approx(0.01, abs=2e-3)
    assert split.test_rows.tolist() == whole.test_rows.tolist()
    assert set(split.rows(0).tolist()) != set(split.rows(1).tolist())


def test_a_sample_has_all_normal_examples_in_order_and_its_own_anomalies() -> None:
    chosen = rare(LABELS, seed=1)
    assert (LABELS[chosen] > 0).mean() == pytest.approx(0.01, abs=2e-4)
    assert set(np.flatnonzero(LABELS < 0)) <= set(chosen)
    assert (np.diff(chosen) > 0).all()
    assert (chosen == rare(LABELS, seed=1)).all()
    assert set(chosen) != set(rare(LABELS, seed=2))


def stream() -> Examples:
    """Four examples with the keys 1 2, none, 2 3 4, 1."""
    return Examples(
        np.array([0, 2, 2, 5, 6]),
        np.array([1, 2, 2, 3, 4, 1], np.uint64),
        np.arange(6.0),
        np.array([1.0, -1.0, 1.0, -1.0]),
        [b"a", b"b", b"c", b"d"],
    )


def unpacked(given: Examples) -> list[tuple[float, dict[int, float]]]:
    return [
        (label, dict(zip(given.keys[a:b].tolist(), given.values[a:b].tolist(), strict=True)))
        for label, a, b in zip(given.labels.tolist(), given.starts[:-1], given.starts[1:], strict=True)
    ]


def test_a_selection_has_the_examples_that_are_named() -> None:
    whole = unpacked(stream())
    part = stream().select(np.array([2, 1, 3]))
    assert unpacked(part) == [whole[2], whole[1], whole[3]]
    assert part.raws == [b"c", b"b", b"d"]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 99])
def test_the_first_are_a_part(count: int) -> None:
    first = stream().first(count)
    assert unpacked(first) == unpacked(stream())[:count]
    assert list(first.raws) == list(stream().raws)[:count]


def test_features_of_one_example_are_left_out() -> None:
    found = unpacked(stream().without_singletons())
    assert stream().columns()[0].tolist() == [0, 1, 1, 2, 3, 0]
    assert found == [(1.0, {1: 0.0, 2: 1.0}), (-1.0, {}), (1.0, {2: 2.0}), (-1.0, {1: 5.0})]
