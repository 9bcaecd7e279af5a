"""A review queue in a real store, beside a simple model of it."""

import math
import random
from collections import defaultdict

import pytest

from app.storage.client import Connection
from app.storage.review.queue import MOST_UNSURE, LeaseEnded
from tests.storage.review_queues import Desk, at_random, uncertain

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_happens_the_queue_agrees_with_a_simple_model(connection: Connection, seed: int) -> None:
    desk, dice, model = await Desk(connection).create(), random.Random(seed), Model()  # noqa: S311 - it need not be secret
    people = [f"{person:02x}" for person in range(5)]
    for _ in range(250):
        person, kind = dice.choice(people), dice.random()
        if kind < 0.25:
            chosen = [uncertain(dice.choice([1.0, 2.0, 3.5])) if dice.random() < 0.6 else at_random() for _ in range(3)]
            at = 1_700_000_000_000 + dice.randrange(50)
            ids = await desk.add(*chosen, at=at)
            model.add({each: (1.0 if one.cost == math.inf else -one.cost, at + k, each)
                       for k, (each, one) in enumerate(zip(ids, chosen, strict=True))})  # fmt: skip
        elif kind < 0.6:
            limit = dice.randrange(1, 4)
            assert await desk.lease(person, limit) == model.lease(person, limit)
        elif model.order:
            prediction_id = dice.choice(sorted(model.order))
            action = dice.choice(["skip", "unsure", "release", "label"])
            if action == "label":
                await desk.label(prediction_id)
                model.remove(prediction_id)
            else:
                done = await desk.end(action, prediction_id, person)  # type: ignore[arg-type]
                assert isinstance(done, LeaseEnded) == model.end(action, prediction_id, person)
        assert await desk.sizes() == (len(model.order) - len(model.holders), len(model.holders))


class Model:
    """The queue as a dict that is sorted again for each lease."""

    def __init__(self) -> None:
        self.order: dict[str, tuple[float, int, str]] = {}
        self.holders: dict[str, str] = {}
        self.passes: defaultdict[str, dict[str, str]] = defaultdict(dict)

    def add(self, items: dict[str, tuple[float, int, str]]) -> None:
        self.order |= items

    def lease(self, person: str, limit: int) -> list[str]:
        free = [each for each in self.order if each not in self.holders and person not in self.passes[each]]
        taken = sorted(free, key=self.order.__getitem__)[:limit]
        self.holders |= dict.fromkeys(taken, person)
        return taken

    def end(self, action: str, prediction_id: str, person: str) -> bool:
        if self.holders.get(prediction_id) != person:
            is_again = self.passes[prediction_id].get(person) == action
            return is_again or (action == "release" and prediction_id not in self.holders)
        del self.holders[prediction_id]
        if action != "release":
            self.passes[prediction_id][person] = action
            if list(self.passes[prediction_id].values()).count("unsure") >= MOST_UNSURE:
                self.remove(prediction_id)
        return True

    def remove(self, prediction_id: str) -> None:
        del self.order[prediction_id]
        self.holders.pop(prediction_id, None)
