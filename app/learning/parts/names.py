"""Readable names of features, kept beside the model only so that people can read its weights.

A tenant may have a million names, and a service thousands of tenants. So names are in sorted runs: immutable arrays
(`kernels.table.names`) of decreasing size; the latest names are in a dict. As in a log-structured merge tree, a run
that becomes too large relative to the one before is merged into it, so that most merges are small.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

import numpy as np

from kernels.arrays import Bytes, Ends, Ints, Keys
from kernels.table.names import find_unknown, merge_names

BIAS_NAME = "(bias)"
BIAS_KEY = 0xA7EF7CC5ADE9B561  # key_of(BIAS_NAME) as a literal: importing this module must not compile a kernel
MOST_NAMES = 1_000_000
MOST_BYTES = 1 << 28  # of all names of a tenant together
LEAST_RECENT, MOST_RECENT = 16, 2048  # names in the dict before they become a run,
RECENT_SHARE = 32  # or this fraction of all names
RATIO = 8  # a run is at most this fraction of the one before
ENTRY_BYTES = 70  # overhead of a name in the dict, beside its letters and the dict's slot
RUN_BYTES = 480  # overhead of the three arrays of a run
NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Run:
    """An immutable run: sorted keys, the end of each name, and the UTF-8 of all names."""

    keys: Keys
    ends: Ends
    text: Bytes

    def find(self, key: int) -> bytes | None:
        """Return the name of the key, or None."""
        index = int(np.searchsorted(self.keys, np.uint64(key)))
        if index == self.keys.size or int(self.keys[index]) != key:
            return None
        start = int(self.ends[index - 1]) if index else 0
        return self.text[start : int(self.ends[index])].tobytes()

    def merge(self, other: "Run") -> "Run":
        """Merge two runs that have no key in common."""
        size, letters = self.keys.size + other.keys.size, self.text.size + other.text.size
        both = Run(np.empty(size, np.uint64), np.empty(size, np.uint32), np.empty(letters, np.uint8))
        merge_names(
            self.keys, self.ends, self.text, other.keys, other.ends, other.text, both.keys, both.ends, both.text
        )
        return both

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, with Python's overhead."""
        return int(self.keys.nbytes + self.ends.nbytes + self.text.nbytes) + RUN_BYTES


NO_NAMES = Run(np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.uint8))


class Names:
    """Maps keys to names, up to a number of names; the first ones stay. Not part of the state's digest."""

    def __init__(self, at_most: int = MOST_NAMES) -> None:
        self._at_most = at_most
        self._runs: list[Run] = []
        self._recent: dict[int, bytes] = {}
        self._count = self._letters = 0
        self._run_bytes = self._recent_letters = 0  # nbytes is read after every label

    def __len__(self) -> int:
        """Return the number of names."""
        return self._count

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Iterate over keys and names in the order of the keys."""
        run = self.run()
        letters, stops = run.text.tobytes(), run.ends.tolist()
        for key, start, stop in zip(run.keys.tolist(), [0, *stops], stops, strict=False):
            yield key, letters[start:stop].decode(errors="replace")

    def __contains__(self, key: int) -> bool:
        """Whether the key has a name."""
        return self._find(key) is not None

    @property
    def nbytes(self) -> int:
        """Memory of the names."""
        recent = self._recent
        return self._run_bytes + recent.__sizeof__() + self._recent_letters + ENTRY_BYTES * len(recent)

    def unknown(self, keys: Keys) -> Ints:
        """Return the indices of the keys without a name; none once the limit of names is reached."""
        if self._count >= self._at_most:
            return NONE
        unknown = _not_in(self._runs[0] if self._runs else NO_NAMES, keys)
        for run in self._runs[1:]:
            unknown = unknown[_not_in(run, keys[unknown])] if unknown.size else unknown
        if not unknown.size or not self._recent:
            return unknown
        new = [k for k, key in zip(unknown.tolist(), keys[unknown].tolist(), strict=True) if key not in self._recent]
        return np.array(new, np.int64)

    def known(self, keys: Keys) -> Ints:
        """Return the indices of the keys that have a name."""
        is_known = np.fromiter((key in self._recent for key in keys.tolist()), np.bool_, keys.size)
        for run in self._runs:
            in_run = np.ones(keys.size, np.bool_)
            in_run[_not_in(run, keys)] = False
            is_known |= in_run
        return np.flatnonzero(is_known)

    def remember(self, keys: Iterable[int] | Keys, names: Iterable[str]) -> None:
        """Add the names of new keys up to the limits; an empty name is unknown."""
        array = keys if isinstance(keys, np.ndarray) else np.fromiter(keys, np.uint64)
        listed = names if isinstance(names, Sequence) else list(names)
        if array.size != len(listed):
            raise ValueError(f"{array.size} keys cannot have {len(listed)} names")
        for k in self.unknown(array).tolist():
            self._add(int(array[k]), listed[k].encode())
        if len(self._recent) > min(max(self._count // RECENT_SHARE, LEAST_RECENT), MOST_RECENT):
            self._flush()

    def name_of(self, key: int) -> str:
        """Return the name, or the key in hexadecimal if it has none."""
        if key == BIAS_KEY:
            return BIAS_NAME
        name = self._find(key)
        return f"#{key:016x}" if name is None else name.decode(errors="replace")

    def copy(self) -> "Names":
        """Copy the names; immutable runs are shared."""
        copy = Names(self._at_most)
        copy._runs, copy._recent = self._runs.copy(), self._recent.copy()
        copy._count, copy._letters = self._count, self._letters
        copy._run_bytes, copy._recent_letters = self._run_bytes, self._recent_letters
        return copy

    def run(self) -> Run:
        """Merge all names into one run and return it."""
        if self._recent:
            self._flush()
        if self._runs:
            self._replace_runs([reduce(lambda small, large: large.merge(small), reversed(self._runs))])
        return self._runs[0] if self._runs else NO_NAMES

    def restore(self, run: Run) -> None:
        """Replace the names by those of a run; ValueError if it is inconsistent."""
        if not run.keys.size == run.ends.size <= self._at_most or (run.keys[1:] <= run.keys[:-1]).any():
            raise ValueError("its names are not in order")
        if (run.ends[1:] < run.ends[:-1]).any() or run.text.size != (run.ends[-1] if run.ends.size else 0):
            raise ValueError("the lengths of its names do not match its text")
        self._replace_runs([run] if run.keys.size else [])
        self._count, self._letters = run.keys.size, run.text.size

    def _add(self, key: int, name: bytes) -> None:
        fits = self._count < self._at_most and self._letters + len(name) <= MOST_BYTES
        if name and fits and key not in self._recent:  # one example may name a key twice
            self._recent[key] = name
            self._count += 1
            self._letters += len(name)
            self._recent_letters += len(name)

    def _find(self, key: int) -> bytes | None:
        if key in self._recent:
            return self._recent[key]
        return next((name for run in self._runs if (name := run.find(key)) is not None), None)

    def _flush(self) -> None:
        """Turn the recent names into a run, and merge it with preceding runs that are not much larger."""
        run, runs = _run_of(self._recent), self._runs
        while runs and RATIO * run.keys.size > runs[-1].keys.size:
            run = runs.pop().merge(run)
        self._replace_runs([*runs, run])

    def _replace_runs(self, runs: list[Run]) -> None:
        """Replace all names by those of runs."""
        self._runs, self._recent = runs, {}
        self._run_bytes, self._recent_letters = sum(run.nbytes for run in runs), 0


def _not_in(run: Run, keys: Keys) -> Ints:
    indices = np.empty(keys.size, np.int64)
    return indices[: find_unknown(run.keys, keys, indices)]


def _run_of(names: dict[int, bytes]) -> Run:
    keys, texts = np.fromiter(names, np.uint64, len(names)), list(names.values())
    order = np.argsort(keys)
    texts = [texts[k] for k in order.tolist()]
    ends = np.fromiter(accumulate(map(len, texts)), np.uint32, len(texts))
    return Run(keys[order], ends, np.frombuffer(b"".join(texts), np.uint8).copy())
