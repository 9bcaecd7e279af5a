"""A service full of pretend moderation, to try the console: a past, predictions, labels of several people, a queue."""

import heapq
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Any, Final

from app.cli.client import Client, RequestRefused
from app.cli.demo.mails import synthetic_mails
from app.cli.demo.moderators import MODERATORS, SECOND_SHARE, UNASKED_SHARE, decide
from app.cli.demo.past import DAYS, Past
from app.datasets.synthetic_urls import synthetic_urls
from app.features.featurizer import Kind

URLS: Final = 1000  # today
PAST: Final = 14  # items of the past for each one of today
MAIL_SHARE: Final = 0.25  # as many e-mails as URLs
CAMPAIGN_SHARE: Final = 0.55  # of the URLs come before the attackers change their tricks
LEFT_SHARE: Final = 0.4  # of the items come last, and are left to whoever tries the console
DELAY: Final = (2, 60)  # items between a prediction and its label
# Enough is chosen to review and to estimate rates, and every input can be shown.
SETTINGS: Final = {"keep_inputs": "all", "reviews_per_day": None, "review_random": 0.05}


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

    def __init__(self, client: Client, tenant: str, kind: Kind, items: Iterator[tuple[str, int]], seed: int) -> None:
        self.tenant = tenant
        self.labels = 0
        self._client = client
        self._kind = kind
        self._items = items
        self._seed = seed
        self._random = Random(seed)  # noqa: S311 - no security depends on it
        self._due: list[Due] = []
        self._run = secrets.token_hex(4)  # makes the feedback ids of this run unique
        self._number = 0

    def begin(self, past: int) -> None:
        """Set up the tenant, with a past of so many items if it does not exist yet."""
        written = Past(self._kind, SETTINGS, self._seed)
        written.play(self._items, past)
        try:
            self._client.send_file(f"/tenants/{self.tenant}/import", written.file())
        except RequestRefused as refused:
            if refused.status != HTTPStatus.CONFLICT:
                raise
            self._client.put(f"/tenants/{self.tenant}", SETTINGS)

    def play(self, count: int) -> None:
        """Predict items, and label some of them a little later; the last ones are left for others."""
        for number in range(count):
            self.step(labels=number < (1.0 - LEFT_SHARE) * count)
        while self._due:
            self._label(heapq.heappop(self._due))

    def step(self, *, labels: bool) -> None:
        """Predict one item, and give the labels that are due; `labels` says whether this item gets one."""
        self._number += 1
        raw, truth = next(self._items)
        answer = self._client.post("/predict", {"tenant": self.tenant, self._kind: raw})
        is_asked = "review_reason" in answer or self._random.random() < UNASKED_SHARE
        if labels and is_asked and answer["prediction_id"] is not None:
            self._plan(answer["prediction_id"], truth, None)
        while self._due and self._due[0].at <= self._number:
            self._label(heapq.heappop(self._due))

    def waiting(self) -> int:
        """Return how many items wait for a review."""
        review: dict[str, Any] | None = self._client.get(f"/tenants/{self.tenant}")["review"]
        return 0 if review is None else int(review["waiting"])

    def _plan(self, prediction_id: str, truth: int, not_by: str | None) -> None:
        at = self._number + self._random.randint(*DELAY)
        heapq.heappush(self._due, Due(at, len(self._due) + self.labels, prediction_id, truth, not_by))

    def _label(self, due: Due) -> None:
        moderator, label = decide(self._random, due.truth, due.not_by)
        self.labels += 1
        self._client.post(
            "/feedback",
            {
                "tenant": self.tenant,
                "prediction_id": due.prediction_id,
                "label": label,
                "moderator": moderator,
                "feedback_id": f"demo-{self._run}-{self.labels}",
            },
        )
        if due.not_by is None and self._random.random() < SECOND_SHARE:
            self._plan(due.prediction_id, due.truth, moderator)


def fill(client: Client, tenant: str, urls: int, seed: int, say: Callable[[str], None]) -> Moderation:
    """Fill a service; return the moderation of its first tenant, which can go on."""
    change_every = max(1, int(CAMPAIGN_SHARE * PAST * urls))
    links = ((each.url, each.label) for each in synthetic_urls(seed, change_every))
    mails = ((each.text, each.label) for each in synthetic_mails(seed))
    say(f"Inventing {DAYS} days of moderation by {len(MODERATORS)} pretend moderators: URLs and e-mails.")
    every = [
        Moderation(client, tenant, "url", links, seed),
        Moderation(client, f"{tenant}-mail", "email", mails, seed + 1),
    ]
    for each, count in zip(every, (urls, max(1, int(MAIL_SHARE * urls))), strict=True):
        each.begin(PAST * count)
        each.play(count)
        labels = client.get(f"/tenants/{each.tenant}")["counts"]["examples"]
        say(f"Tenant {each.tenant}: {labels:,} labels, {each.waiting():,} items wait for you.")
    return every[0]


def go_on(moderation: Moderation, pause_seconds: float) -> None:
    """Predict and label until stopped, so that the pages have something to show; every second item is left."""
    number = 0
    while True:
        moderation.step(labels=number % 2 == 0)
        number += 1
        time.sleep(pause_seconds)
