"""Labels of similar inputs: which ones are compared, and how similar they are."""

import math
from pathlib import Path

import numpy as np
import pytest

from app.learning.example import Example, example_of
from app.learning.parts.names import Names
from app.storage.client import connect
from app.storage.event_log import EventLog
from app.tenants.labels import similarity
from app.tenants.labels.similarity import Known, SimilarInputs, most_similar
from app.tenants.labels.stored_labels import StoredLabel
from app.tenants.registry import Tenants
from app.tenants.tenant import Feedback
from tests.servers import Server
from tests.tenants.labels.helpers import retract
from tests.tenants.workers import copy_of, fail_over_to, give, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
NAME = "acme"
WANTED = {"a": 1.0, "b": 2.0}


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


def known(version: int, features: dict[str, float], label: int = 1) -> Known:
    values = dict.fromkeys(StoredLabel.__struct_fields__) | {"version": version, "label": label}
    return Known(StoredLabel(**values), *similarity.canonical(example_of(features)))  # type: ignore[arg-type]


def found(*labels: Known, wanted: dict[str, float] | None = None, limit: int = 9) -> list[tuple[int, float]]:
    """Versions and similarities."""
    similar = most_similar(example_of(wanted or WANTED), labels, Names(), limit)
    return [(each.label.version, each.similarity) for each in similar.labels]


def by_hand(wanted: dict[str, float], *labels: dict[str, float]) -> list[float]:
    """Similarities, the slow way."""

    def weight(name: str) -> float:
        return math.log1p((len(labels) + 1) / (sum(name in each for each in labels) + 1))

    def share(one: float, other: float) -> float:
        return min(abs(one), abs(other)) / max(abs(one), abs(other)) if one * other > 0 else 0.0

    return [
        sum(weight(name) * share(wanted[name], each[name]) for name in wanted.keys() & each.keys())
        / sum(weight(name) for name in wanted.keys() | each.keys())
        for each in labels
    ]


def test_the_similarity_is_the_weighted_share_of_common_features() -> None:
    labels = [{"a": 1.0}, {"a": 1.0, "c": 1.0}, WANTED, {"a": 1.0, "b": 8.0}, {"a": 1.0, "b": -2.0}]
    similar = dict(found(*(known(k, each) for k, each in enumerate(labels))))
    assert [similar[k] for k in range(5)] == pytest.approx(by_hand(WANTED, *labels))
    assert similar[2] == 1.0


def test_what_has_nothing_in_common_is_not_similar() -> None:
    assert found(known(1, {"c": 1.0})) == []


def test_random_examples_are_compared_as_by_hand() -> None:
    rng = np.random.default_rng(5)
    examples = [
        {f"f{k}": float(v) for k, v in zip(rng.integers(0, 30, 8).tolist(), rng.normal(size=8), strict=True)}
        for _ in range(60)
    ]
    similar = dict(found(*(known(k, each) for k, each in enumerate(examples[1:])), wanted=examples[0], limit=60))
    slow = by_hand(*examples)
    assert [similar.get(k, 0.0) for k in range(59)] == pytest.approx(slow)


def test_repeated_features_add_up() -> None:
    example = example_of({"a": 1.0, "b": 2.0})
    twice = Example(example.keys[[0, 1, 1]], example.values[[0, 1, 1]] / [1, 2, 2])
    assert most_similar(twice, [known(1, WANTED)], Names(), 1).labels[0].similarity == 1.0


def test_the_most_similar_come_first_and_of_equal_ones_the_newest() -> None:
    labels = [known(1, {"a": 1.0}), known(2, WANTED), known(3, {"b": 2.0}), known(4, {"z": 1.0})]
    labels.append(known(5, {"a": 1.0}))
    assert [version for version, _ in found(*labels)] == [2, 3, 5, 1]
    assert [version for version, _ in found(*labels, limit=2)] == [2, 3]


def test_labels_of_inputs_that_look_alike_are_counted() -> None:
    labels = [known(1, WANTED), known(2, WANTED | {"c": 1.0}, -1), known(3, {"a": 1.0, "c": 1.0}, -1), known(4, WANTED)]
    similar = most_similar(example_of(WANTED), labels, Names(), 1)
    assert (similar.compared, similar.anomalies, similar.normal) == (4, 2, 1)


def test_nothing_is_similar_to_nothing() -> None:
    assert most_similar(example_of({}), [known(1, WANTED)], Names(), 5).labels == []
    assert most_similar(example_of(WANTED), [], Names(), 5).compared == 0


async def similar(tenants: Tenants) -> list[str | None]:
    result = await tenants.similar_labels(NAME, example_of(WANTED), 5, "")
    return [each.label.feedback_id for each in result.labels]


def labelled(feedback_id: str, features: dict[str, float], label: int = 1) -> Feedback:
    return Feedback(label, example_of(features), feedback_id)


async def test_new_labels_are_seen_at_once_and_retracted_ones_no_more(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, labelled("one", {"a": 1.0}), labelled("far", {"z": 1.0}))
        assert await similar(tenants) == ["one"]
        await give(tenants, NAME, labelled("two", WANTED, -1))
        assert await similar(tenants) == ["two", "one"]
        await retract(tenants, "one")
        assert await similar(tenants) == ["two"]
        await give(tenants, NAME, labelled("three", {"b": 2.0}))
        assert await similar(tenants) == ["two", "three"]
        async with worker(store.url, tmp_path) as another:  # it reads the log from its end
            assert await similar(another) == await similar(tenants)


async def test_rare_common_features_are_named_first(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, labelled("one", WANTED), *(labelled(f"a{k}", {"a": 1.0}) for k in range(3)))
        result = await tenants.similar_labels(NAME, example_of(WANTED), 1, "")
        assert list(result.labels[0].shared) == ["b", "a"]


async def test_only_the_newest_labels_are_compared(
    store: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "MOST_LABELS", 3)
    monkeypatch.setattr(similarity, "READ_AT_ONCE", 2)
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(labelled(f"f{k}", WANTED) for k in range(9)))
        assert await similar(tenants) == ["f8", "f7", "f6"]
        await give(tenants, NAME, labelled("new", WANTED))
        assert await similar(tenants) == ["new", "f8", "f7"]
        monkeypatch.setattr(similarity, "MOST_FEATURES", 3)
        assert await similar(tenants) == ["new"]


async def test_a_log_that_a_failover_has_shortened_is_read_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, labelled("kept", {"a": 1.0}))
        copy = copy_of(store)
        await give(tenants, NAME, labelled("lost", WANTED))
        tenant = await tenants.hold(NAME)
        connection = connect(store.url)
        finder = SimilarInputs(EventLog(connection, 60))
        assert len((await finder.find(tenant, example_of(WANTED), 5, "")).labels) == 2
        fail_over_to(store, copy)
        assert [each.label.feedback_id for each in (await finder.find(tenant, example_of(WANTED), 5, "")).labels] == [
            "kept"
        ]
        await connection.aclose()
