"""How many requests of one key may be in progress at once: one caller must not hold every slot of a worker."""

from app.api.context import RequestContext
from app.api.errors import TooManyConcurrentRequests
from app.telemetry.counters import Requests


class KeyShare:
    """The share of a worker's concurrent requests that one key may hold.

    Callers without a key have no share of their own: where none is needed, they cannot be told apart behind a proxy.
    """

    def __init__(self, at_most: int, requests: Requests) -> None:
        self._at_most = at_most
        self._requests = requests

    def take(self, context: RequestContext, key_id: str) -> None:
        """Count a request until the middleware has answered it; TooManyConcurrentRequests beyond the share."""
        held = self._requests.in_progress_by_key
        count = held.get(key_id, 0)
        if count >= self._at_most:
            self._requests.shed["key_concurrency"] += 1
            raise TooManyConcurrentRequests(self._at_most)
        held[key_id] = count + 1
        context.counted_key = key_id
