"""Plans for Locust and their results, passed between processes as msgpack; and the labels that come later."""

import heapq
from itertools import count, cycle

import msgspec

from load_tests.harness.traffic import JSON, post

FEEDBACK, FEEDBACK_ROUTE = "feedback", "/feedback"
ID_BEGINS = b'"prediction_id":"'


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


class Book:
    """What all users share: the next request, labels that are due later, and what the answers held."""

    def __init__(self, asks: list[Ask]) -> None:
        self._asks = cycle(asks)
        self._labels: list[tuple[float, int, Ask]] = []
        self._numbers = count()  # two labels that are due at once keep their order
        self.verdicts = 0
        self.labels = 0

    @property
    def waiting(self) -> int:
        return len(self._labels)

    def next(self, now: float) -> Ask:
        if self._labels and self._labels[0][0] <= now:
            return heapq.heappop(self._labels)[2]
        return next(self._asks)

    def enter(self, ask: Ask, answer: bytes, now: float) -> None:
        if ask.is_label:
            self.labels += ask.items
        else:
            self.verdicts += ask.items
        if ask.label:
            prediction_id = answer.partition(ID_BEGINS)[2].partition(b'"')[0]
            body = b'{"tenant":"%b","prediction_id":"%b","label":%d}' % (ask.tenant.encode(), prediction_id, ask.label)
            label = Ask(FEEDBACK, FEEDBACK_ROUTE, ask.tenant, body)
            heapq.heappush(self._labels, (now + ask.delay_seconds, next(self._numbers), label))
