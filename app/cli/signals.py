"""Signals that come while processes are started or ended: they must leave none behind."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        if callable(before[number]):  # what is ignored, or ends us at once, stays as it is
            signal.signal(number, lambda told, _: heard.append(told))
    try:
        yield
    finally:
        for number in ENDING:
            if callable(before[number]):
                signal.signal(number, before[number])
        if heard:
            signal.raise_signal(heard[0])


@contextmanager
def ignored() -> Iterator[None]:
    """A signal that would end this program is not heard at all: it is ending what it has started."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
