"""Signals that come while processes are started or ended: they must leave none behind."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler = signal.Handlers | Callable[[int, FrameType | None], Any]


@contextmanager
def held_back() -> Iterator[None]:
    """A signal that would end this program is heard only after the block.

    For a process that is being started: `Popen` has it long before its caller has, and a handler that raises in
    between would leave a process that nobody knows of. Ignoring signals instead would be inherited by the new process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python's handlers run in the main thread alone
        return
    heard: list[int] = []
    numbers = [number for number in ENDING if callable(signal.getsignal(number))]  # others are ignored, or end us
    try:
        with handled(lambda told, _: heard.append(told), numbers):
            yield
    finally:
        if heard:
            signal.raise_signal(heard[0])


@contextmanager
def handled(handler: Handler, numbers: Iterable[signal.Signals] = ENDING) -> Iterator[None]:
    """Signals are handled like this in the block."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
