"""The load: some clients in a thread of their own; each sends a request, waits for the answer, and pauses."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

import uvloop

from load_tests.soak.client import Balancer, Client, Ledger
from load_tests.soak.traffic import Label, Prediction, Traffic

CLIENTS = 8
PER_SECOND = 400.0  # of all clients together: leaves a machine of two cores time for restarts
END_SECONDS = 120.0  # longer than a client retries a label


class Load:
    """`with Load(ports) as load:` sends requests until `stop`, or until the block ends."""

    def __init__(self, ports: list[int]) -> None:
        self.ledger = Ledger()
        self.has_begun = threading.Event()  # every tenant has learnt its vocabulary
        self._balancer = Balancer(ports, self.ledger)
        self._client = Client(self._balancer, self.ledger)
        self._traffic = Traffic()
        self._error: BaseException | None = None
        self._loop = uvloop.new_event_loop()
        self._enough = asyncio.Event()
        self._later: set[asyncio.Task[None]] = set()
        self._work: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def check(self) -> None:
        """Raise the error that has ended the load."""
        if self._error is not None:
            raise RuntimeError("the load has ended") from self._error

    def stop(self) -> None:
        """Let every client finish; labels that moderators would give later are given now."""
        self._call(self._enough.set)
        self._thread.join(END_SECONDS)
        self.check()
        if self._thread.is_alive():
            raise TimeoutError("a client does not end")

    def __enter__(self) -> Self:
        """Start."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel whatever is still under way."""
        if self._thread.is_alive():
            self._call(lambda: self._work and self._work.cancel())
            self._thread.join(END_SECONDS)

    def _call(self, function: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(function)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._main())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised in the main thread by check()
            self._error = error

    async def _main(self) -> None:
        self._work = asyncio.current_task()
        try:
            for label in self._traffic.first_labels():
                await self._client.give(label)
            self.has_begun.set()
            async with asyncio.TaskGroup() as clients:
                for number in range(CLIENTS):
                    clients.create_task(self._send_all(number))
            await asyncio.gather(*self._later)
        finally:
            self._balancer.close()

    async def _send_all(self, number: int) -> None:
        """At a steady pace, but never two at once: a slow answer makes this client slower."""
        pace = CLIENTS / PER_SECOND
        due = time.monotonic() + pace * number / CLIENTS
        while not self._enough.is_set():
            await asyncio.sleep(due - time.monotonic())
            await self._send()
            due = max(due + pace, time.monotonic())

    async def _send(self) -> None:
        match request := self._traffic.next_request():
            case Prediction():
                prediction_id = await self._client.predict(request)
                if request.label_after_seconds is not None:
                    label = self._traffic.label(request.tenant, request.example, prediction_id)
                    task = asyncio.create_task(self._give_later(label, request.label_after_seconds))
                    self._later.add(task)
                    task.add_done_callback(self._later.discard)
            case Label():
                await self._client.give(request)
            case _:
                await self._client.give_all(request)

    async def _give_later(self, label: Label, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._enough.wait()
        await self._client.give(label)
