"""What if: the kept labels on two copies of a model, one of them with other settings."""

import asyncio
from pathlib import Path

import pytest

from app.learning.config import Value
from app.learning.errors import BadSetting
from app.learning.events import Served
from app.storage.event_codec import decode_record
from app.storage.redis_keys import keys_of
from app.tenants.errors import Abandoned, TenantUnknown, WhatIfTooLarge
from app.tenants.labels.stored_labels import LabelFilter
from app.tenants.labels.what_if import WhatIf
from app.tenants.registry import Tenants
from app.tenants.rules import FeatureLimit
from app.tenants.tenant import Feedback
from kernels.registry import ALGORITHMS
from tests.servers import Server
from tests.tenants.labels.by_hand import by_hand, check_comparison
from tests.tenants.labels.helpers import MANY, NAME, SHORT, retract
from tests.tenants.workers import digest, feedback, give, stored_entries, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


def noisy(number: int) -> Feedback:
    """Return feedback that is hard to judge: its label does not follow from its features."""
    given = feedback(number, f"id-{number}")
    keep = [k for k, name in enumerate(given.example.names) if not name.startswith("class:")]
    example = type(given.example)(
        given.example.keys[keep], given.example.values[keep], tuple(given.example.names[k] for k in keep),
        len(keep) if given.example.given else 0,
    )  # fmt: skip
    return Feedback(given.label, example, f"id-{number}", f"m{number % 3}", served=Served(1, 0.5))


async def fill(tenants: Tenants, name: str, numbers: range) -> None:
    await give(tenants, name, *map(noisy, numbers))


def stored(store: Server, *names: str) -> list[bytes]:
    """Return what a store has of tenants, without what it keeps for retries and predictions."""
    keys = [keys_of(name) for name in names or (NAME,)]
    return [store.ask("DUMP", key) for each in keys for key in (each.meta, each.log, each.headers, each.chunks)]


async def test_the_same_settings_give_the_same_verdicts(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await fill(tenants, NAME, range(100))
        await tenants.configure(NAME, {"threshold": "auto", "bias": True})
        await fill(tenants, NAME, range(100, 700))
        tenant = await tenants.hold(NAME)
        for settings in ({}, dict(tenant.state.config.values)):
            found = await tenants.what_if(NAME, WhatIf(settings=settings))
            assert (found.start, found.version) == (0, 701)
            assert found.actual.counts == tenant.state.prequential.lifetime
            assert found.other.config == found.actual.config == tenant.state.config.values
            if not settings:
                assert found.other == found.actual
                assert (found.corrected, found.spoilt, found.flips) == (0, 0, [])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_other_settings_are_as_replayed_by_hand(store: Server, tmp_path: Path, algorithm: str) -> None:
    settings: dict[str, Value] = {"algorithm": algorithm, "max_features": 400}
    async with worker(store.url, tmp_path) as tenants:
        await fill(tenants, NAME, range(60))
        await tenants.configure(NAME, {"normalize": "none", "max_features": 500})
        await fill(tenants, NAME, range(60, 300))
        before = await digest(tenants, NAME), stored(store)
        found = await tenants.what_if(NAME, WhatIf(settings=settings, flips=1000))
        assert (await digest(tenants, NAME), stored(store)) == before
        actual = await by_hand(store.url, {})
        await check_comparison(store.url, found, actual, await by_hand(store.url, settings))
        assert found.other.config["algorithm"] == algorithm
        assert found.other.config["normalize"] == "none"
        assert found.other.config["max_features"] == 400


async def test_a_threshold_and_costs(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await fill(tenants, NAME, range(200))
        await tenants.configure(NAME, {"threshold": 0.1})  # it does not count: the threshold is tried
        await fill(tenants, NAME, range(200, 300))
        for settings in ({"threshold": -0.2}, {"cost_positive": 5.0, "cost_negative": 1.0, "threshold": 0.0}):
            found = await tenants.what_if(NAME, WhatIf(settings=settings, flips=1000))
            await check_comparison(store.url, found, await by_hand(store.url, {}), await by_hand(store.url, settings))
            assert found.corrected
            assert found.spoilt
            few = await tenants.what_if(NAME, WhatIf(settings=settings, flips=3))
            assert few.flips == found.flips[:3]
            assert (few.corrected, few.spoilt) == (found.corrected, found.spoilt)
            assert not (await tenants.what_if(NAME, WhatIf(settings=settings, flips=0))).flips


async def test_settings_count_as_soon_as_the_algorithm_has_them(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await tenants.configure(NAME, {"algorithm": "fsol"})
        await fill(tenants, NAME, range(50))
        await tenants.configure(NAME, {"algorithm": "ada-rda"})
        await fill(tenants, NAME, range(50, 100))
        found = await tenants.what_if(NAME, WhatIf(settings={"delta": 5.0}, flips=1000))
        assert found.other.config == {**found.actual.config, "delta": 5.0}
        assert {flip.label.version > 52 for flip in found.flips} == {True}


async def test_labels_that_were_taken_back_or_replaced_are_left_out(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=MANY) as tenants:
        await fill(tenants, NAME, range(100))
        await tenants.snapshot(NAME)
        tenant = await tenants.hold(NAME)
        for number in (101, 102):
            first = noisy(number)
            for label in (1, -1):
                await tenant.give([Feedback(label, first.example, f"{number}:{label}", prediction_id=f"p{number}")])
        await retract(tenants, "id-7", "id-50")
        await fill(tenants, NAME, range(103, 120))
        settings: dict[str, Value] = {"threshold": -0.1}
        found = await tenants.what_if(NAME, WhatIf(settings=settings, flips=1000))
        await check_comparison(store.url, found, await by_hand(store.url, {}), await by_hand(store.url, settings))
        assert found.start == 0
        assert found.actual.counts.examples == 100 - 2 + 2 + 17
        assert found.actual.counts == tenant.state.prequential.lifetime


async def test_only_labels_within_a_time_are_compared_and_all_are_learnt(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        for start in range(0, 300, 100):
            await fill(tenants, NAME, range(start, start + 100))
            await asyncio.sleep(0.002)  # the times differ
        times = [decode_record(entry.payload).at_milliseconds for entry in await stored_entries(store.url, NAME)]
        wanted = LabelFilter(since=times[100], until=times[200])
        settings: dict[str, Value] = {"algorithm": "fobos"}
        found = await tenants.what_if(NAME, WhatIf(settings=settings, compared=wanted, flips=1000))
        actual, other = await by_hand(store.url, {}), await by_hand(store.url, settings)
        within = {version for version, at in enumerate(times, 1) if times[100] <= at < times[200]}
        assert found.actual.counts.examples == len(within) == 100
        await check_comparison(
            store.url,
            found,
            {version: each for version, each in actual.items() if version in within},
            {version: each for version, each in other.items() if version in within},
        )


async def test_a_trimmed_log_begins_with_its_oldest_snapshot(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=SHORT) as tenants:
        await fill(tenants, NAME, range(100))
        await tenants.snapshot(NAME)
        await fill(tenants, NAME, range(100, 180))
        tenant = await tenants.hold(NAME)
        found = await tenants.what_if(NAME, WhatIf(settings={"threshold": 0.05}))
        assert (found.start, found.version) == (100, 180)
        assert found.actual.counts.examples == 80
        start = await tenants.as_of(NAME, 100)
        assert start is not None
        before = start.state.prequential.lifetime
        total = tenant.state.prequential.lifetime
        assert found.actual.counts.true_positives == total.true_positives - before.true_positives
        assert found.actual.counts.false_positives == total.false_positives - before.false_positives
        # Another algorithm has no use for the weights of the snapshot: it begins without any.
        assert (await tenants.what_if(NAME, WhatIf(settings={"algorithm": "fobos"}))).start == 100
        await tenants.snapshot(NAME)
        nothing = await tenants.what_if(NAME, WhatIf(settings={"threshold": 0.05}))
        assert (nothing.start, nothing.version, nothing.actual.counts.examples) == (180, 180, 0)
        assert nothing.actual.counts.balanced_accuracy is None


async def test_a_new_tenant_has_nothing_to_compare(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await tenants.hold(NAME)
        found = await tenants.what_if(NAME, WhatIf(settings={"eta": 0.5}))
        assert (found.start, found.version, found.other.counts.examples) == (0, 0, 0)


async def test_the_model_of_another_tenant(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await tenants.configure("trial", {"algorithm": "ada-fobos", "eta": 0.3})
        await fill(tenants, "trial", range(1000, 1200))
        await fill(tenants, NAME, range(50))
        await tenants.configure(NAME, {"bias": True})  # the model of another tenant keeps its settings
        await fill(tenants, NAME, range(50, 150))
        before = await digest(tenants, NAME), await digest(tenants, "trial"), stored(store, NAME, "trial")
        trial = await tenants.hold("trial")
        for settings in ({}, {"threshold": 0.1}):
            copy = await tenants.as_of("trial", trial.state.version)
            assert copy is not None
            found = await tenants.what_if(NAME, WhatIf(settings=settings, model_of="trial", flips=1000))
            expected = await by_hand(store.url, settings, copy.state, follows=False)
            await check_comparison(store.url, found, await by_hand(store.url, {}), expected)
            assert found.other.config == trial.state.config.changed(settings).values
        assert (await digest(tenants, NAME), await digest(tenants, "trial"), stored(store, NAME, "trial")) == before
        with pytest.raises(TenantUnknown, match="unknown"):
            await tenants.what_if(NAME, WhatIf(model_of="unknown"))


async def test_labels_that_a_side_cannot_learn_are_not_compared(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await tenants.configure(NAME, {"normalize": "none"})
        await fill(tenants, NAME, range(20))
        large = noisy(20)
        await give(tenants, NAME, Feedback(1, type(large.example)(large.example.keys, large.example.values * 1e7)))
        found = await tenants.what_if(NAME, WhatIf(settings={"algorithm": "ssol-full", "max_features": 400}))
        assert (found.refused, found.actual.counts.examples, found.other.counts.examples) == (1, 20, 20)


async def test_what_put_refuses_is_refused(store: Server, tmp_path: Path) -> None:
    async with worker(
        store.url, tmp_path, features=FeatureLimit(1000), first_settings={"max_features": 900}
    ) as tenants:
        await fill(tenants, NAME, range(5))
        for settings in ({"eta": -1.0}, {"algorithm": "none"}, {"max_features": 2000}, {"delta": 1.0}):
            with pytest.raises(BadSetting) as put:
                await tenants.configure(NAME, settings)
            with pytest.raises(BadSetting) as asked:
                await tenants.what_if(NAME, WhatIf(settings=settings))
            assert str(asked.value) == str(put.value)


class Gone:
    """A client that has gone."""

    is_client_gone = True


async def test_the_work_ends_when_the_client_has_gone(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await fill(tenants, NAME, range(5))
        with pytest.raises(Abandoned):
            await tenants.what_if(NAME, WhatIf(), Gone())
        assert (await tenants.what_if(NAME, WhatIf())).version == 5


async def test_copies_that_exceed_the_memory_budget_are_refused(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, memory_budget_bytes=200_000) as tenants:
        await fill(tenants, NAME, range(600))
        await tenants.what_if(NAME, WhatIf(settings={"max_features": 100}))
        with pytest.raises(WhatIfTooLarge, match="SLUICE_MEMORY_BUDGET_BYTES"):
            await tenants.what_if(NAME, WhatIf(settings={"algorithm": "ssol-full", "max_features": 400}))


async def test_others_are_served_meanwhile(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await fill(tenants, NAME, range(3000))
        asked = [asyncio.create_task(tenants.what_if(NAME, WhatIf(settings={"eta": 0.5}))) for _ in range(2)]
        while not all(task.done() for task in asked):
            await give(tenants, NAME, feedback(len(asked)))
        assert {task.result().version for task in asked} != {3000}  # the second began when the first had ended
        assert (await digest(tenants, NAME))[0] == len(await stored_entries(store.url, NAME))
