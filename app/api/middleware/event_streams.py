"""How many event streams a worker has. An open stream takes no place from other requests: it waits nearly always."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.api.context import RequestContext
from app.api.errors import Overloaded
from app.telemetry.counters import Requests


class EventStreams:
    """The open event streams of a worker, apart from its requests in progress."""

    def __init__(self, at_most: int, requests: Requests) -> None:
        self._at_most = at_most
        self._requests = requests

    def check(self) -> None:
        """Overloaded if there are as many streams as one worker may have."""
        if self._requests.event_streams >= self._at_most:
            raise Overloaded(
                f"this worker has {self._at_most:,} event streams, which is the limit (SLUICE_MAX_EVENT_STREAMS)"
            )

    @contextmanager
    def open(self, context: RequestContext) -> Iterator[None]:
        """Count a request as a stream, and not as a request in progress."""
        self.check()
        requests = self._requests
        if context.counted_key is not None:
            requests.key_done(context.counted_key)
            context.counted_key = None
        requests.event_streams += 1
        requests.in_progress -= 1
        try:
            yield
        finally:
            requests.event_streams -= 1
            requests.in_progress += 1
