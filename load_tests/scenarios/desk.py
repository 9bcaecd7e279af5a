"""Predictions on a moderator's desk: each gets its label when its time has come."""

import heapq
from itertools import count

from load_tests.scenarios.plans import FEEDBACK, FEEDBACK_ROUTE, Ask


class Desk:
    """The labels to be given, the next one first."""

    def __init__(self) -> None:
        self._labels: list[tuple[float, int, Ask]] = []
        self._numbers = count()  # two that are due at once keep their order

    def __len__(self) -> int:
        """How many there are."""
        return len(self._labels)

    def put(self, asked: Ask, prediction_id: str, now: float) -> None:
        """A prediction that will be labelled."""
        label = labelling(asked, prediction_id)
        heapq.heappush(self._labels, (now + asked.delay_seconds, next(self._numbers), label))

    def due(self, now: float) -> Ask | None:
        """A label whose time has come."""
        if not self._labels or self._labels[0][0] > now:
            return None
        return heapq.heappop(self._labels)[2]


def labelling(asked: Ask, prediction_id: str) -> Ask:
    """The request that labels a prediction."""
    body = f'{{"tenant":"{asked.tenant}","prediction_id":"{prediction_id}","label":{asked.label}}}'
    return Ask(FEEDBACK, FEEDBACK_ROUTE, asked.tenant, body.encode())
