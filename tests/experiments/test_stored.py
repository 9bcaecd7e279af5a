"""Sets on disk are what was read, in any order and in pieces of any size."""

from pathlib import Path

import numpy as np
import pytest

from experiments.splits import TEST, TRAIN, Split
from experiments.stored import opened, store
from kernels.examples.canonical import canonical_batch
from tests.experiments.examples import batch, stored_set


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
