"""The load: some clients in a thread of their own, each asking, waiting for the answer, and pausing."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import uvloop

from load_tests.soak.asking import Client
from load_tests.soak.balancing import Balancer
from load_tests.soak.ledger import Ledger
from load_tests.soak.traffic import Label, Prediction, Traffic

CLIENTS = 8
PER_SECOND = 400.0  # of all clients together: leaves a machine of two cores time for restarts
LAST_WORDS_SECONDS = 120.0  # longer than a client sends a label in vain


class Load:
    """`with Load(ports) as load:` asks until `stop`, or until the block ends."""

    def __init__(self, ports: list[int]) -> None:
        self.ledger = Ledger()
        self._ports = ports
        self._traffic = Traffic()
        self._taught = threading.Event()
        self._error: BaseException | None = None
        self._loop = uvloop.new_event_loop()
        self._enough = asyncio.Event()
        self._later: set[asyncio.Task[None]] = set()
        self._work: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    @property
    def has_begun(self) -> bool:
        """Whether every tenant was taught its vocabulary, and the traffic has begun."""
        return self._taught.is_set()

    def check(self) -> None:
        """Raise what has ended the load before its time."""
        if self._error is not None:
            raise RuntimeError("the load has ended") from self._error

    def stop(self) -> None:
        """Let every client finish what it has begun; labels that moderators would give later are given now."""
        self._tell(self._enough.set)
        self._thread.join(LAST_WORDS_SECONDS)
        self.check()
        if self._thread.is_alive():
            raise TimeoutError("a client does not come to an end")

    def __enter__(self) -> Self:
        """Start."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Break off whatever is still under way."""
        if self._thread.is_alive():
            self._tell(self._break_off)
            self._thread.join(LAST_WORDS_SECONDS)

    def _tell(self, what: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(what)

    def _break_off(self) -> None:
        if self._work is not None:
            self._work.cancel()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._main())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - told to the main thread
            self._error = error

    async def _main(self) -> None:
        self._work = asyncio.current_task()
        balancer = Balancer(self._ports, self.ledger)
        client = Client(balancer, self.ledger)
        try:
            for label in self._traffic.first_labels():
                await client.give(label)
            self._taught.set()
            async with asyncio.TaskGroup() as clients:
                for number in range(CLIENTS):
                    clients.create_task(self._ask_on(client, number))
            await asyncio.gather(*self._later)
        finally:
            balancer.close()

    async def _ask_on(self, client: Client, number: int) -> None:
        """At a steady pace, but never two at once: a slow answer makes this client slower, not impatient."""
        pace = CLIENTS / PER_SECOND
        due = time.monotonic() + pace * number / CLIENTS
        while not self._enough.is_set():
            await asyncio.sleep(due - time.monotonic())
            await self._ask(client)
            due = max(due + pace, time.monotonic())

    async def _ask(self, client: Client) -> None:
        match asked := self._traffic.ask():
            case Prediction():
                prediction_id = await client.predict(asked)
                if asked.label_after_seconds is not None:
                    self._give_later(client, asked, prediction_id)
            case Label():
                await client.give(asked)
            case _:
                await client.give_all(asked)

    def _give_later(self, client: Client, asked: Prediction, prediction_id: str) -> None:
        label = self._traffic.label(asked.tenant, asked.example, prediction_id)
        task = asyncio.create_task(self._given_later(client, label, asked.label_after_seconds or 0.0))
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _given_later(self, client: Client, label: Label, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._enough.wait()
        await client.give(label)
