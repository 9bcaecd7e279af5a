"""A time and a count for each caller, as rate limits need them; the workers of a service share them.

Several workers map one table in a file into memory, without locks. Two that write to one line at once may lose one of
two requests, and readers ignore impossible values. So a limit may be exceeded slightly.
"""

import hashlib
import mmap
import os
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Final, Protocol

WAYS: Final = 8  # lines of a set; a caller's line is one of them
LINE: Final = struct.Struct("<Qdd")  # hash of the caller, end of its window, count
SET: Final = struct.Struct("<" + "Qdd" * WAYS)


class RateWindows(Protocol):
    """For each caller, the end of its window and a count."""

    def get(self, caller: str) -> tuple[float, float] | None:
        """Return the end of a caller's window, and the count."""

    def put(self, caller: str, until: float, count: float, now: float) -> None:
        """Set them; windows that have ended may be dropped."""

    def __len__(self) -> int:
        """Return how many callers have a window."""


class OwnRateWindows:
    """The windows of one worker."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: OrderedDict[str, tuple[float, float]] = OrderedDict()  # the most recent caller is last

    def __len__(self) -> int:
        """Return how many callers have a window."""
        return len(self._lines)

    def get(self, caller: str) -> tuple[float, float] | None:
        """Return the end of a caller's window, and the count."""
        return self._lines.get(caller)

    def put(self, caller: str, until: float, count: float, now: float) -> None:
        """Set them; drop windows that have ended, and beyond the limit the least recent callers."""
        self._lines[caller] = (until, count)
        self._lines.move_to_end(caller)
        while next(iter(self._lines.values()))[0] <= now or len(self._lines) > self._most:
            self._lines.popitem(last=False)


class SharedRateWindows:
    """The windows of all workers of a service. They share a clock: `time.monotonic` is the machine's."""

    def __init__(self, file: Path, most: int) -> None:
        self._sets = -(-most // WAYS)
        number = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            os.ftruncate(number, self._sets * SET.size)  # no change for the second worker
            self._table = mmap.mmap(number, self._sets * SET.size)
        finally:
            os.close(number)

    def __len__(self) -> int:
        """Return how many callers have a line."""
        return sum(LINE.unpack_from(self._table, place)[0] != 0 for place in range(0, len(self._table), LINE.size))

    def get(self, caller: str) -> tuple[float, float] | None:
        """Return the end of a caller's window, and the count."""
        name, _, found = self._set_of(caller)
        for way in range(WAYS):
            if found[3 * way] == name:
                return found[3 * way + 1], found[3 * way + 2]
        return None

    def put(self, caller: str, until: float, count: float, now: float) -> None:
        """Write the caller's line, or the line of its set that ends first; an empty one has ended."""
        del now
        name, place, found = self._set_of(caller)
        own = (way for way in range(WAYS) if found[3 * way] == name)
        way = next(own, None)
        if way is None:
            way = min(range(WAYS), key=lambda way: found[3 * way + 1])
        LINE.pack_into(self._table, place + way * LINE.size, name, until, count)

    def _set_of(self, caller: str) -> tuple[int, int, tuple[float, ...]]:
        """Return the caller's hash, the place of its set, and the set."""
        number = int.from_bytes(hashlib.blake2b(caller.encode("utf-8", "replace"), digest_size=8).digest())
        place = number % self._sets * SET.size
        return number | 1, place, SET.unpack_from(self._table, place)


def rate_windows(folder: Path | None, name: str, most: int) -> RateWindows:
    """Return windows that all workers with this folder share; without a folder, this worker's own."""
    return OwnRateWindows(most) if folder is None else SharedRateWindows(folder / f"{name}.buckets", most)
