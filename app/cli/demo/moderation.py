"""A service full of pretend moderation, to try the console: predictions, labels of several people, waiting items."""

import heapq
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, NamedTuple

from app.cli.client import Client
from app.cli.demo.mails import synthetic_mails
from app.datasets.synthetic_urls import synthetic_urls

URLS: Final = 1600
MAILS: Final = 400
CHANGE_EVERY: Final = 1000  # URLs: then the attackers change their tricks
LEFT_SHARE: Final = 0.2  # of the items come last, and are left to whoever tries the console
DELAY: Final = (2, 60)  # items between a prediction and its label
UNASKED_SHARE: Final = 0.15  # of what the policy did not choose gets a label as well: complaints
SECOND_SHARE: Final = 0.12  # of the labels are looked at by somebody else
# Enough is chosen to review and to estimate rates, and every input can be shown.
SETTINGS: Final = {"keep_inputs": "all", "reviews_per_day": None, "review_random": 0.15}


class Moderator(NamedTuple):
    """A pretend moderator: how much of the work they do, and how often they miss an attack or find one in vain."""

    name: str
    work: int
    misses: float
    false_alarms: float


MODERATORS: Final = (
    Moderator("kim", 5, 0.03, 0.01),
    Moderator("lee", 4, 0.05, 0.01),
    Moderator("noa", 3, 0.04, 0.02),
    Moderator("max", 2, 0.10, 0.22),  # differs from the others, which the console points out
)


@dataclass(frozen=True, slots=True, order=True)
class Due:
    """A label that is given when item `at` has been predicted."""

    at: int
    number: int
    prediction_id: str = field(compare=False)
    truth: int = field(compare=False)
    not_by: str | None = field(compare=False)  # who has labelled it before


class Moderation:
    """The moderation of one tenant. The same seed gives the same labels."""

    def __init__(self, client: Client, tenant: str, items: Iterator[tuple[dict[str, str], int]], seed: int) -> None:
        self.labels = 0
        self._client = client
        self._tenant = tenant
        self._items = items
        self._random = Random(seed)  # noqa: S311 - no security depends on it
        self._due: list[Due] = []
        self._run = secrets.token_hex(4)  # makes the feedback ids of this run unique
        self._number = 0

    def begin(self) -> None:
        """Set up the tenant."""
        self._client.put(f"/tenants/{self._tenant}", SETTINGS)

    def play(self, count: int) -> None:
        """Predict items, and label some of them a little later; the last ones are left for others."""
        for number in range(count):
            self.step(labels=number < (1.0 - LEFT_SHARE) * count)
        while self._due:
            self._label(heapq.heappop(self._due))

    def step(self, *, labels: bool) -> None:
        """Predict one item, and give the labels that are due; `labels` says whether this item gets one."""
        self._number += 1
        body, truth = next(self._items)
        answer = self._client.post("/predict", {"tenant": self._tenant, **body})
        is_asked = "review_reason" in answer or self._random.random() < UNASKED_SHARE
        if labels and is_asked and answer["prediction_id"] is not None:
            self._plan(answer["prediction_id"], truth, None)
        while self._due and self._due[0].at <= self._number:
            self._label(heapq.heappop(self._due))

    def _plan(self, prediction_id: str, truth: int, not_by: str | None) -> None:
        at = self._number + self._random.randint(*DELAY)
        heapq.heappush(self._due, Due(at, len(self._due) + self.labels, prediction_id, truth, not_by))

    def _label(self, due: Due) -> None:
        free = [each for each in MODERATORS if each.name != due.not_by]
        (person,) = self._random.choices(free, [each.work for each in free])
        errs = self._random.random() < (person.misses if due.truth == 1 else person.false_alarms)
        self.labels += 1
        self._client.post(
            "/feedback",
            {
                "tenant": self._tenant,
                "prediction_id": due.prediction_id,
                "label": -due.truth if errs else due.truth,
                "moderator": person.name,
                "feedback_id": f"demo-{self._run}-{self.labels}",
            },
        )
        if due.not_by is None and self._random.random() < SECOND_SHARE:
            self._plan(due.prediction_id, due.truth, person.name)


def fill(client: Client, tenant: str, urls: int, seed: int, say: Callable[[str], None]) -> Moderation:
    """Fill a service; return the moderation of its first tenant, which can go on."""
    links = Moderation(client, tenant, _urls(seed), seed)
    mails = Moderation(client, f"{tenant}-mail", _mails(seed), seed + 1)
    count = max(1, urls * MAILS // URLS)
    for moderation, number, what in ((links, urls, "URLs"), (mails, count, "e-mails")):
        say(f"Playing {number:,} invented {what}, with {len(MODERATORS)} pretend moderators.")
        moderation.begin()
        moderation.play(number)
    for moderation, name in ((links, tenant), (mails, f"{tenant}-mail")):
        say(f"Tenant {name}: {moderation.labels:,} labels, {_waiting(client, name):,} items wait for you.")
    return links


def go_on(moderation: Moderation, pause_seconds: float) -> None:
    """Predict and label until stopped, so that the pages have something to show; every second item is left."""
    number = 0
    while True:
        moderation.step(labels=number % 2 == 0)
        number += 1
        time.sleep(pause_seconds)


def _urls(seed: int) -> Iterator[tuple[dict[str, str], int]]:
    return (({"url": each.url}, each.label) for each in synthetic_urls(seed, CHANGE_EVERY))


def _mails(seed: int) -> Iterator[tuple[dict[str, str], int]]:
    return (({"email": each.text}, each.label) for each in synthetic_mails(seed))


def _waiting(client: Client, tenant: str) -> int:
    review: dict[str, Any] | None = client.get(f"/tenants/{tenant}")["review"]
    return 0 if review is None else int(review["waiting"])
