"""Plans for Locust and their results, passed between processes as msgpack; and the labels that come later."""

import heapq
from itertools import count

import msgspec

from load_tests.harness.traffic import JSON, post

FEEDBACK, FEEDBACK_ROUTE = "feedback", "/feedback"


class Ask(msgspec.Struct, frozen=True, array_like=True):
    """A POST. With a label, a moderator gives it by prediction id, some time after the answer."""

    name: str  # in Locust's statistics
    path: str
    tenant: str
    body: bytes
    items: int = 1  # verdicts in the answer
    content_type: str = JSON
    label: int = 0  # 0: no label follows
    delay_seconds: float = 0.0

    @property
    def route(self) -> str:
        return self.path.partition("?")[0]

    @property
    def is_label(self) -> bool:
        return self.route == FEEDBACK_ROUTE

    @property
    def http(self) -> bytes:
        """The whole request, for a client that sends bytes."""
        return post(self.path, self.body, self.content_type)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Users who send the requests in turn, each the next one as soon as it has its answer."""

    port: int
    asks: list[Ask]
    users: int
    seconds: float
    report: str  # the file for Locust's page


class Counted(msgspec.Struct, frozen=True):
    """Locust's statistics of one name, or of all; latencies in milliseconds, None without a request."""

    requests: int
    failures: int
    rate: float
    p50: float | None
    p99: float | None


class Found(msgspec.Struct, frozen=True):
    """The result of a plan."""

    total: Counted
    names: dict[str, Counted]
    verdicts: int  # in all good answers to predictions
    labels: int  # that were acknowledged
    waiting: int  # labels that were not yet due at the end
    errors: list[str]
    cores: float  # that Locust itself kept busy


class LabelQueue:
    """Predictions that a moderator will label, the next one first."""

    def __init__(self) -> None:
        self._labels: list[tuple[float, int, Ask]] = []
        self._numbers = count()  # two that are due at once keep their order

    def __len__(self) -> int:
        return len(self._labels)

    def put(self, asked: Ask, prediction_id: str, now: float) -> None:
        """Add the label of an answered prediction."""
        body = f'{{"tenant":"{asked.tenant}","prediction_id":"{prediction_id}","label":{asked.label}}}'
        label = Ask(FEEDBACK, FEEDBACK_ROUTE, asked.tenant, body.encode())
        heapq.heappush(self._labels, (now + asked.delay_seconds, next(self._numbers), label))

    def due(self, now: float) -> Ask | None:
        """The next label, if it is due."""
        if not self._labels or self._labels[0][0] > now:
            return None
        return heapq.heappop(self._labels)[2]
