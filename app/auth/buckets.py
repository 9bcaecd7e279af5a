"""What is remembered of each caller so that it can be limited: a moment and a count. The workers of a service share it.

Several workers have a table in a file that all of them have in memory. Nobody locks it: two that write the same line at
once may lose one of two requests, and what cannot be is taken for nothing. So a limit may be passed by a hair.
"""

import hashlib
import mmap
import os
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Final, Protocol

WAYS: Final = 8  # lines of a set: a caller has its line in one of them
LINE: Final = struct.Struct("<Qdd")  # who, until when something is remembered, the count
SET: Final = struct.Struct("<" + "Qdd" * WAYS)


class Buckets(Protocol):
    """Callers, and what is remembered of them: until when, and a count."""

    def get(self, who: str) -> tuple[float, float] | None:
        """What is remembered of a caller."""

    def put(self, who: str, until: float, count: float, now: float) -> None:
        """Remember it; what is over by now may be forgotten."""

    def __len__(self) -> int:
        """How many callers are remembered."""


class OwnBuckets:
    """Those of one worker."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: OrderedDict[str, tuple[float, float]] = OrderedDict()  # who has asked last is last

    def __len__(self) -> int:
        """How many callers are remembered."""
        return len(self._lines)

    def get(self, who: str) -> tuple[float, float] | None:
        """What is remembered of a caller."""
        return self._lines.get(who)

    def put(self, who: str, until: float, count: float, now: float) -> None:
        """Remember it, and forget what is over, and beyond the limit who has asked least recently."""
        self._lines[who] = (until, count)
        self._lines.move_to_end(who)
        while next(iter(self._lines.values()))[0] <= now or len(self._lines) > self._most:
            self._lines.popitem(last=False)


class SharedBuckets:
    """Those of all workers of a service, by a clock that all of them have: `time.monotonic` is the machine's."""

    def __init__(self, file: Path, most: int) -> None:
        self._sets = -(-most // WAYS)
        number = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            os.ftruncate(number, self._sets * SET.size)  # for the second worker nothing changes by it
            self._table = mmap.mmap(number, self._sets * SET.size)
        finally:
            os.close(number)

    def __len__(self) -> int:
        """How many callers have a line."""
        return sum(LINE.unpack_from(self._table, place)[0] != 0 for place in range(0, len(self._table), LINE.size))

    def get(self, who: str) -> tuple[float, float] | None:
        """What is remembered of a caller."""
        name, _, found = self._set_of(who)
        for way in range(WAYS):
            if found[3 * way] == name:
                return found[3 * way + 1], found[3 * way + 2]
        return None

    def put(self, who: str, until: float, count: float, now: float) -> None:
        """Remember it in the caller's line, or in that of its set which is over first: an empty one is over already."""
        del now
        name, place, found = self._set_of(who)
        own = (way for way in range(WAYS) if found[3 * way] == name)
        way = next(own, None)
        if way is None:
            way = min(range(WAYS), key=lambda way: found[3 * way + 1])
        LINE.pack_into(self._table, place + way * LINE.size, name, until, count)

    def _set_of(self, who: str) -> tuple[int, int, tuple[float, ...]]:
        """The caller as a number, where its set is, and what is there."""
        number = int.from_bytes(hashlib.blake2b(who.encode("utf-8", "replace"), digest_size=8).digest())
        place = number % self._sets * SET.size
        return number | 1, place, SET.unpack_from(self._table, place)


def buckets(folder: Path | None, name: str, most: int) -> Buckets:
    """Those that all workers with this folder share; without one, those of this worker."""
    return OwnBuckets(most) if folder is None else SharedBuckets(folder / f"{name}.buckets", most)
