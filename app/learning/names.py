"""Readable names of features, kept beside the model only so that people can read its weights.

There may be a million of them, and thousands of tenants: they are in arrays (`kernels.table.names`) that are never
changed, in some runs of falling size, and the latest wait in a dict. A run that has become too large beside the one
before is merged into it, so that most merges are small.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

import numpy as np

from kernels.arrays import Bytes, Ends, Ints, Keys
from kernels.table.names import find_unknown, merge_names

BIAS_NAME = "(bias)"
BIAS_KEY = 0xA7EF7CC5ADE9B561  # key_of(BIAS_NAME), written out: importing this module must not compile a kernel
NAMES_AT_MOST = 1_000_000
BYTES_AT_MOST = 1 << 28  # of all names of a tenant together
LEAST_RECENT, MOST_RECENT = 16, 2048  # so many names wait to become a run,
RECENT_SHARE = 32  # or this part of all names
FALL = 8  # a run has at most this part of the names of the one before
ENTRY_BYTES = 70  # what a waiting name takes beside its letters and the dict's slot
RUN_BYTES = 480  # what Python keeps with the three arrays of a run
NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Run:
    """Keys in order, where each name ends, and the UTF-8 of all names; never changed."""

    keys: Keys
    ends: Ends
    text: Bytes

    def find(self, key: int) -> bytes | None:
        """The key's name, if it is here."""
        place = int(np.searchsorted(self.keys, np.uint64(key)))
        if place == self.keys.size or int(self.keys[place]) != key:
            return None
        start = int(self.ends[place - 1]) if place else 0
        return self.text[start : int(self.ends[place])].tobytes()

    def merged(self, other: "Run") -> "Run":
        """The names of both runs in one; no key is in both."""
        size, letters = self.keys.size + other.keys.size, self.text.size + other.text.size
        both = Run(np.empty(size, np.uint64), np.empty(size, np.uint32), np.empty(letters, np.uint8))
        merge_names(
            self.keys, self.ends, self.text, other.keys, other.ends, other.text, both.keys, both.ends, both.text
        )
        return both

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, and of what Python keeps with each."""
        return int(self.keys.nbytes + self.ends.nbytes + self.text.nbytes) + RUN_BYTES


NO_NAMES = Run(np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.uint8))


class Names:
    """Key to name, up to a number of names; the first to come stay. Not part of the state's digest."""

    def __init__(self, at_most: int = NAMES_AT_MOST) -> None:
        self._at_most = at_most
        self._runs: list[Run] = []
        self._recent: dict[int, bytes] = {}
        self._count = self._letters = 0

    def __len__(self) -> int:
        """How many are kept."""
        return self._count

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """In the order of the keys."""
        run = self.run()
        letters, stops = run.text.tobytes(), run.ends.tolist()
        for key, start, stop in zip(run.keys.tolist(), [0, *stops], stops, strict=False):
            yield key, letters[start:stop].decode(errors="replace")

    def __contains__(self, key: int) -> bool:
        """Whether the key's name is kept."""
        return self._find(key) is not None

    @property
    def nbytes(self) -> int:
        """Memory that the names take."""
        waiting = sum(map(len, self._recent.values())) + ENTRY_BYTES * len(self._recent)
        return sum(run.nbytes for run in self._runs) + self._recent.__sizeof__() + waiting

    def unknown(self, keys: Keys) -> Ints:
        """Which of the keys have no name yet, as places in `keys`; none if no more names are kept."""
        if self._count >= self._at_most:
            return NONE
        unknown = _not_in(self._runs[0] if self._runs else NO_NAMES, keys)
        for run in self._runs[1:]:
            unknown = unknown[_not_in(run, keys[unknown])] if unknown.size else unknown
        if not unknown.size or not self._recent:
            return unknown
        new = [k for k, key in zip(unknown.tolist(), keys[unknown].tolist(), strict=True) if key not in self._recent]
        return np.array(new, np.int64)

    def remember(self, keys: Iterable[int] | Keys, names: Iterable[str]) -> None:
        """Keep the names of new keys while there is room; an empty name is one that was not told."""
        array = keys if isinstance(keys, np.ndarray) else np.fromiter(keys, np.uint64)
        told = names if isinstance(names, Sequence) else list(names)
        if array.size != len(told):
            raise ValueError(f"{array.size} keys cannot have {len(told)} names")
        for k in self.unknown(array).tolist():
            self._add(int(array[k]), told[k].encode())
        if len(self._recent) > min(max(self._count // RECENT_SHARE, LEAST_RECENT), MOST_RECENT):
            self._settle()

    def name_of(self, key: int) -> str:
        """The name, or the key in hexadecimal where the name is not known."""
        if key == BIAS_KEY:
            return BIAS_NAME
        name = self._find(key)
        return f"#{key:016x}" if name is None else name.decode(errors="replace")

    def copy(self) -> "Names":
        """The names of this moment: what is never changed is shared."""
        copy = Names(self._at_most)
        copy._runs, copy._recent = self._runs.copy(), self._recent.copy()
        copy._count, copy._letters = self._count, self._letters
        return copy

    def run(self) -> Run:
        """All names in one run."""
        if self._recent:
            self._settle()
        self._runs = [reduce(lambda small, large: large.merged(small), reversed(self._runs))] if self._runs else []
        return self._runs[0] if self._runs else NO_NAMES

    def take_over(self, run: Run) -> None:
        """Hold these names instead; ValueError if they cannot be names."""
        if not run.keys.size == run.ends.size <= self._at_most or (run.keys[1:] <= run.keys[:-1]).any():
            raise ValueError("its names are not in order")
        if (run.ends[1:] < run.ends[:-1]).any() or run.text.size != (run.ends[-1] if run.ends.size else 0):
            raise ValueError("its names do not end where they should")
        self._runs, self._recent = [run] if run.keys.size else [], {}
        self._count, self._letters = run.keys.size, run.text.size

    def _add(self, key: int, name: bytes) -> None:
        fits = self._count < self._at_most and self._letters + len(name) <= BYTES_AT_MOST
        if name and fits and key not in self._recent:  # one example may name a key twice
            self._recent[key] = name
            self._count += 1
            self._letters += len(name)

    def _find(self, key: int) -> bytes | None:
        if key in self._recent:
            return self._recent[key]
        return next((name for run in self._runs if (name := run.find(key)) is not None), None)

    def _settle(self) -> None:
        """Turn the waiting names into a run, and merge it with those before that are not much larger."""
        run = _run_of(self._recent)
        self._recent = {}
        while self._runs and FALL * run.keys.size > self._runs[-1].keys.size:
            run = self._runs.pop().merged(run)
        self._runs.append(run)


def _not_in(run: Run, keys: Keys) -> Ints:
    places = np.empty(keys.size, np.int64)
    return places[: find_unknown(run.keys, keys, places)]


def _run_of(names: dict[int, bytes]) -> Run:
    keys, texts = np.fromiter(names, np.uint64, len(names)), list(names.values())
    order = np.argsort(keys)
    texts = [texts[k] for k in order.tolist()]
    ends = np.fromiter(accumulate(map(len, texts)), np.uint32, len(texts))
    return Run(keys[order], ends, np.frombuffer(b"".join(texts), np.uint8).copy())
