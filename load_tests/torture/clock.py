"""Wall clocks that jump: of a Valkey by libfaketime, of a service by this module, which it is started with.

`python -m load_tests.torture.clock serve` is `sluice serve` with an offset on Python's wall clock. Workers import the
main module of their parent, and so get the same clock. libfaketime is not used for services: it slows down threads.
"""

import mmap
import os
import time
from pathlib import Path

VARIABLE = "TORTURE_CLOCK"  # the file with the offset
WIDTH = 11  # of the offset as text
FAKETIME = "/usr/lib/*/faketime/libfaketime.so.1"  # of Debian's package


class Clock:
    """An offset in a file, which processes read again and again."""

    def __init__(self, file: Path) -> None:
        self.offset_seconds = 0
        self._file = file
        file.write_text(self._text())

    def jump(self, seconds: int) -> None:
        self.offset_seconds += seconds
        with self._file.open("r+") as file:  # in place: it is mapped
            file.write(self._text())

    def _text(self) -> str:
        return f"{self.offset_seconds:+{WIDTH:03d}}"

    @property
    def of_a_service(self) -> dict[str, str]:
        """The environment of a service with this clock."""
        return {VARIABLE: str(self._file)}

    def of_a_server(self, library: str) -> dict[str, str]:
        """The environment of any other program with this clock."""
        return {
            "LD_PRELOAD": library,
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }


def libfaketime() -> str | None:
    """Return the path of the library, if it is installed."""
    return next((str(path) for path in Path("/").glob(FAKETIME.lstrip("/"))), None)


def _shift(path: str) -> None:
    """Add the offset in a file to the wall clock of this process."""
    with Path(path).open("rb") as file:
        offset = mmap.mmap(file.fileno(), WIDTH, access=mmap.ACCESS_READ)
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + int(offset[:WIDTH])
    time.time_ns = lambda: nanoseconds() + int(offset[:WIDTH]) * 10**9


if VARIABLE in os.environ:  # also in the workers of a service, which import this module first
    _shift(os.environ[VARIABLE])

if __name__ == "__main__":
    from app.cli import main

    main()
