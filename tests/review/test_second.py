"""Blind second reviews on a real store, with labels in a real log."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from app.review.errors import LeaseLost
from app.review.people import Person, SecondOpinion
from app.review.queue import Reviewer
from app.review.second import SecondReviews
from app.storage.review.opinions import OpinionStore, Said
from app.tenants.labels.retraction import Asked
from app.tenants.labels.stored_labels import LabelFilter
from app.tenants.tenant import Feedback
from tests.review.test_queue import Desk, working
from tests.servers import Server
from tests.tenants.workers import feedback

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
ANN, BOB, CAT = (Reviewer(f"moderator {name}") for name in ("ann", "bob", "cat"))


@pytest.fixture
async def desk(store: Server, tmp_path: Path) -> AsyncIterator[Desk]:
    async with working(store, tmp_path) as desk:
        yield desk


def reviews(desk: Desk, share: float = 1.0) -> SecondReviews:
    return SecondReviews(OpinionStore(desk.connection), desk.tenants, share)


async def label(
    desk: Desk, prediction_id: str, moderator: str | None, label: int = 1, key_id: str | None = None
) -> None:
    given: Feedback = msgspec.structs.replace(
        feedback(1, label=label), prediction_id=prediction_id, moderator=moderator, key_id=key_id, feedback_id=None
    )
    (result,) = await desk.tenant.give([given])
    assert not isinstance(result, Exception), result


async def test_a_label_of_somebody_else_gets_a_second_opinion(desk: Desk) -> None:
    (one,) = await desk.predict(1.0)
    await label(desk, one, "ann", -1)
    assert (await reviews(desk).lease(desk.tenant, ANN, 5)).prediction_ids == [], "nobody judges an own label"
    leased = await reviews(desk).lease(desk.tenant, BOB, 5)
    assert (leased.waiting, leased.prediction_ids) == (1, [one])
    await reviews(desk).answer("acme", BOB, one, "opinion", Said(1, "bob", None))
    (found,) = await reviews(desk).opinions("acme")
    assert found == SecondOpinion(one, 1, Person("ann"), -1, Person("bob"), 1, found.at_milliseconds)
    assert desk.tenant.state.version == 1, "it was not learnt"


async def test_without_a_lease_there_is_no_opinion(desk: Desk) -> None:
    (one,) = await desk.predict(1.0)
    await label(desk, one, "ann")
    with pytest.raises(LeaseLost):
        await reviews(desk).answer("acme", BOB, one, "opinion", Said(1, "bob", None))
    await reviews(desk).lease(desk.tenant, CAT, 1)
    with pytest.raises(LeaseLost):
        await reviews(desk).answer("acme", BOB, one, "opinion", Said(1, "bob", None))


async def test_who_had_a_part_in_the_label_is_not_asked(desk: Desk) -> None:
    (one,) = await desk.predict(1.0)
    await label(desk, one, "ann", 1)
    await label(desk, one, "bob", -1)
    for part in (ANN, BOB):
        assert (await reviews(desk).lease(desk.tenant, part, 5)).prediction_ids == []
    assert (await reviews(desk).lease(desk.tenant, CAT, 5)).prediction_ids == [one]


async def test_labels_of_nobody_and_those_taken_back_get_none(desk: Desk) -> None:
    one, two, three = await desk.predict(1.0, 2.0, 3.0)
    await label(desk, one, None)
    await label(desk, two, "ann")
    await label(desk, three, None, key_id="k1")
    await desk.tenants.retract("acme", LabelFilter(moderator="ann"), Asked(), dry_run=False)
    assert (await reviews(desk).lease(desk.tenant, BOB, 5)).prediction_ids == [three]
    assert (await reviews(desk).lease(desk.tenant, Reviewer("key k1"), 5)).prediction_ids == []


async def test_a_share_of_the_labels_is_chosen_and_always_the_same(desk: Desk) -> None:
    ids = await desk.predict(*range(1, 201))
    for each in ids:
        await label(desk, each, "ann")
    chosen = [(await reviews(desk, 0.2).lease(desk.tenant, BOB, 200)).prediction_ids for _ in range(2)]
    assert chosen[0] == chosen[1]
    assert 20 <= len(chosen[0]) <= 60
    assert set(chosen[0]) < set(ids)
    none = await reviews(desk, 0.0).lease(desk.tenant, BOB, 5)
    assert (none.waiting, none.prediction_ids) == (0, [])
