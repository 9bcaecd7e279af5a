"""Locust's user. Only Locust's own process may import this: Locust patches the sockets of its process."""

import time
from itertools import count

from locust import FastHttpUser  # it was measured to ask 4.5 times as often as HttpUser

from load_tests.scenarios.desk import Desk
from load_tests.scenarios.plans import Ask

VERDICT, LABEL = b'"needs_review":', b'"duplicate":'  # what an answer holds once for each item
ID_BEGINS = b'"prediction_id":"'


class Book:
    """What all users share: whose turn it is, and what the answers held."""

    def __init__(self, asks: list[Ask]) -> None:
        self._asks = asks
        self._turns = count()
        self.desk = Desk()
        self.verdicts = 0
        self.labels = 0

    def next(self) -> Ask:
        """A label that is due, else the next request in turn."""
        return self.desk.due(time.monotonic()) or self._asks[next(self._turns) % len(self._asks)]

    def enter(self, ask: Ask, content: bytes) -> None:
        """A good answer."""
        if ask.is_label:
            self.labels += ask.items
        else:
            self.verdicts += ask.items
        if ask.label:
            prediction_id = content.partition(ID_BEGINS)[2].partition(b'"')[0].decode()
            self.desk.put(ask, prediction_id, time.monotonic())


def user_class(book: Book) -> type[FastHttpUser]:
    """Users who ask, read the answer, and ask again. An answer is good if it holds as many items as were asked for."""

    def ask(user: FastHttpUser) -> None:
        given = book.next()
        headers = {"content-type": given.content_type}
        with user.client.post(
            given.path, data=given.body, headers=headers, name=given.name, catch_response=True
        ) as answer:
            content = answer.content or b""
            if answer.status_code == 200 and content.count(LABEL if given.is_label else VERDICT) == given.items:
                book.enter(given, content)
            else:
                answer.failure(f"{answer.status_code}: {content[:300].decode(errors='replace')}")

    return type("SluiceUser", (FastHttpUser,), {"tasks": [ask]})
