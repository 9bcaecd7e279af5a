"""Signal handlers for code that starts or ends processes, so that a signal leaves none of them behind."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any, Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler = signal.Handlers | Callable[[int, FrameType | None], Any]


@contextmanager
def held_back() -> Iterator[None]:
    """Defer signals that would end this program until the block ends.

    Use it where a process is started: `Popen` has the process long before its caller has, and a handler that raises in
    between would leave a process without an owner. Do not ignore signals instead: the new process would inherit that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs signal handlers in the main thread only
        return
    received: list[int] = []
    numbers = [number for number in ENDING if callable(signal.getsignal(number))]  # others are ignored, or end us
    try:
        with handled(lambda number, _: received.append(number), numbers):
            yield
    finally:
        if received:
            signal.raise_signal(received[0])


@contextmanager
def handled(handler: Handler, numbers: Iterable[signal.Signals] = ENDING) -> Iterator[None]:
    """Install a signal handler for the block."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C during the block. Python processes started in it never get one: their parent does, and ends them.

    They would print a traceback if it came while they import.
    """
    resource_tracker.ensure_running()  # else the start of the first process would start it, which unblocks Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
