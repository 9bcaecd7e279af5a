"""What all connections of a job share: the next request, and what was found."""

import time

from load_tests.peers.client.jobs import Done, Job, Request, pack
from load_tests.peers.client.verdicts import verdicts


class Run:
    """Requests in turn, until each was sent once; or the time is over, and every connection may have had an answer.

    So whoever is slower than the time that was given is measured, too: it then takes longer.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.started = time.perf_counter()
        self._begin = self.started + (job.warm_up_seconds if job.seconds else 0.0)
        self._end = self._begin + job.seconds
        self._last = self._begin  # when the last answer that counts came
        self._next = 0
        self._predicting: list[float] = []
        self._learning: list[float] = []
        self._verdicts: list[bool] = []

    def next_request(self) -> Request | None:
        """None if there is nothing more to ask."""
        requests = self.job.requests
        if not self._counts(time.perf_counter()) if self.job.seconds else self._next >= len(requests):
            return None
        request = requests[self._next % len(requests)]
        self._next += 1
        return request

    def answered(self, request: Request, answer: bytes, sent: float) -> None:
        """Note how long it took and what was said."""
        now = time.perf_counter()
        if request.judged:
            found = verdicts(self.job.reading, answer)  # read also where it is not kept: an answer must be one
            if not self.job.seconds:
                self._verdicts += found
        if not self.job.seconds or (now >= self._begin and self._counts(now)):
            self._last = now
            (self._learning if request.learns else self._predicting).append(now - sent)

    def _counts(self, now: float) -> bool:
        """Whether an answer that comes now is still wanted."""
        return now < self._end or len(self._learning) + len(self._predicting) < self.job.connections

    def done(self) -> Done:
        """When every connection has ended."""
        elapsed = time.perf_counter() - self.started
        return Done(
            seconds=max(self.job.seconds, self._last - self._begin) if self.job.seconds else elapsed,
            predicting=pack(self._predicting),
            learning=pack(self._learning),
            verdicts=bytes(self._verdicts),
        )
