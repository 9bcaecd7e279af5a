"""Connections that are kept, or opened anew where the server closes them after every answer."""

import asyncio
import time
from typing import cast

from load_tests.peers.client.framing import Framing, Http, Lines
from load_tests.peers.client.jobs import Done, Job, Request
from load_tests.peers.client.run import Run
from load_tests.service.http_answers import BadAnswer


class Asking(asyncio.Protocol):
    """One connection."""

    def __init__(self, run: Run, framing: Framing, request: Request, sent: float) -> None:
        self._run, self._framing = run, framing
        self._request: Request | None = request
        self._sent = sent  # before the connection was opened: whoever closes them pays for new ones
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first time."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by name
        assert self._request is not None
        self._transport.write(self._request.data)

    def data_received(self, data: bytes) -> None:
        """Note, and ask again."""
        assert self._request is not None
        try:
            answer = self._framing.take(data)
            if answer is None:
                return
            self._run.answered(self._request, answer, self._sent)
        except (BadAnswer, ValueError, IndexError) as error:
            self._end(error)
            return
        self._request = None if self._framing.closes else self._run.next_request()
        if self._request is None:
            self._end()
            return
        self._sent = time.perf_counter()
        self._transport.write(self._request.data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Only good when there was nothing more to ask."""
        if self._request is not None:
            self._end(exc or ConnectionError("the server closed a connection"))

    def _end(self, error: Exception | None = None) -> None:
        self._request = None
        self._transport.close()
        if not self.over.done():
            self.over.set_exception(error) if error else self.over.set_result(None)


async def ask(job: Job) -> Done:
    """Ask over so many connections."""
    run = Run(job)
    await asyncio.gather(*(_one(run) for _ in range(job.connections)))
    return run.done()


async def _one(run: Run) -> None:
    """One connection after the other, if need be."""
    loop = asyncio.get_running_loop()
    while (request := run.next_request()) is not None:
        framing = Http() if run.job.wire == "http" else Lines()
        asking = Asking(run, framing, request, time.perf_counter())
        await loop.create_connection(lambda asking=asking: asking, "127.0.0.1", run.job.port)  # type: ignore[misc]
        await asking.over
