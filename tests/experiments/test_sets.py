"""Every set: what it is, what a limited read gives, and that all of it is read."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from app.datasets.batch import Batch
from experiments.sets import SOURCES
from experiments.sets.source import Source, first
from kernels.feature_hash import key_of
from tests.data import shared_data

UNNAMED = ("news",)
Example = tuple[float, list[int], list[float]]

SLOW = ("news", "mails", "trec07p")  # to read even a little of them takes seconds
each_source = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.e2e if name in SLOW else ()) for name in SOURCES]
)


def source_of(name: str) -> Source:
    """A source that can be read here."""
    if name == "pcmac":
        pytest.importorskip("scipy")
    for file in SOURCES[name].files:
        shared_data(file)
    return SOURCES[name]


def examples_of(batches: Iterable[Batch]) -> list[Example]:
    return [
        (float(batch.labels[i]), batch.keys[a:b].tolist(), batch.values[a:b].tolist())
        for batch in batches
        for i, (a, b) in enumerate(zip(batch.starts[:-1].tolist(), batch.starts[1:].tolist(), strict=True))
    ]


@cache
def first_batches(name: str) -> list[Batch]:
    return list(source_of(name).train(500))


def first_examples(name: str) -> list[Example]:
    return examples_of(first_batches(name))


def labels_of(batches: Iterable[Batch]) -> list[float]:
    return [label for batch in batches for label in batch.labels.tolist()]


@each_source
def test_every_set_is_described_on_the_page(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert f"\n- **{SOURCES[name].title}**: " in page


@each_source
def test_a_limit_gives_the_first_examples_of_both_classes(name: str) -> None:
    assert len(first_examples(name)) == 500
    assert examples_of(source_of(name).train(100)) == first_examples(name)[:100]
    positives = labels_of(first_batches(name)).count(1.0)
    assert (5 if name == "w8a" else 50) <= positives <= 450  # w8a is 3% positive


@each_source
def test_a_key_is_the_hash_of_its_name(name: str) -> None:
    batch = first_batches(name)[0]
    keys = batch.keys[: batch.starts[3]].tolist()
    names = [batch.name_at(position) for position in range(len(keys))]
    if name in UNNAMED:
        assert set(names) == {""}
    else:
        assert [key_of(each) for each in names] == keys


@pytest.mark.parametrize("name", ["synthetic", "a9a"])
def test_a_test_of_its_own_has_other_examples(name: str) -> None:
    source = source_of(name)
    assert source.test is not None
    found = examples_of(source.test(500))
    assert len(found) == 500
    assert found != first_examples(name)


@pytest.mark.parametrize(
    ("name", "positives", "negatives"),
    [("pcmac", 982, 961), ("a9a", 7_841, 24_719), ("w8a", 1_479, 48_270), ("elec2", 19_237, 26_075)],
)
def test_every_example_is_read(name: str, positives: int, negatives: int) -> None:
    labels = labels_of(source_of(name).train(None))
    assert (labels.count(1.0), labels.count(-1.0)) == (positives, negatives)


def test_elec2_keeps_its_order_in_time() -> None:
    batch = next(source_of("elec2").train(96))
    periods = [batch.values[place] for place in range(batch.keys.size) if batch.name_at(place) == "period"]
    assert periods == pytest.approx([*np.arange(1, 48) / 47] * 2, abs=1e-6)  # the period 0 is left out


def test_files_that_are_absent_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_DATA", str(tmp_path))
    assert SOURCES["a9a"].absent() == [tmp_path / "sparse/a9a.xz", tmp_path / "sparse/a9a.t.xz"]
    assert SOURCES["synthetic"].absent() == []


@pytest.mark.parametrize(("limit", "batches"), [(0, 0), (1, 1), (10, 1), (11, 2), (20, 2), (99, 3), (None, 3)])
def test_no_batch_is_taken_beyond_the_limit(limit: int | None, batches: int) -> None:
    ten = next(SOURCES["synthetic"].train(10))
    taken = 0

    def endless() -> Iterable[Batch]:
        nonlocal taken
        for _ in range(3):
            taken += 1
            yield ten

    found = labels_of(first(endless(), limit))
    assert len(found) == min(30, 30 if limit is None else limit)
    assert taken == batches
