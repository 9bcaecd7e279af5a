"""Verdicts that were computed once, on disk: a second run computes only what is new."""

import hashlib
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from experiments.examples import Examples
from experiments.quality.contenders import Contender, Options, Played

Said = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """For each line, whether it was called an anomaly."""

    said: Said
    sparsity: float | None


class Points:
    """One file for each stream and ratio, which one process writes."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("CREATE TABLE IF NOT EXISTS points (key BLOB PRIMARY KEY, bits BLOB, sparsity REAL)")
        self.computed = 0

    def play(self, contender: Contender, lines: Examples, settings: Sequence[Options]) -> list[Verdicts]:
        return self._kept(contender, lines, settings, "", contender.play)

    def play_online(
        self, contender: Contender, lines: Examples, settings: Sequence[Options], name: str,
        run: Callable[[Examples, Options], Played],
    ) -> list[Verdicts]:  # fmt: skip
        def play(lines: Examples, settings: Sequence[Options]) -> list[Played]:
            return [run(lines, options) for options in settings]

        return self._kept(contender, lines, settings, name, play)

    def _kept(
        self, contender: Contender, lines: Examples, settings: Sequence[Options], how: str,
        play: Callable[[Examples, Sequence[Options]], list[Played]],
    ) -> list[Verdicts]:  # fmt: skip
        keys = [_key(digest(lines), contender.version, how, options) for options in settings]
        found = [
            self._database.execute("SELECT bits, sparsity FROM points WHERE key = ?", (k,)).fetchone() for k in keys
        ]
        missing = [place for place, row in enumerate(found) if row is None]
        if missing:
            for place, played in zip(missing, play(lines, [settings[k] for k in missing]), strict=True):
                bits = zlib.compress(np.packbits(played.scores > 0.0).tobytes(), 1)
                found[place] = (bits, played.sparsity)
                self._database.execute("INSERT OR REPLACE INTO points VALUES (?, ?, ?)", (keys[place], *found[place]))
            self.computed += len(missing)
        return [Verdicts(_unpacked(bits, len(lines)), sparsity) for bits, sparsity in found]


@lru_cache(maxsize=64)
def digest(lines: Examples) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    for array in (lines.starts, lines.keys, lines.values, lines.labels):
        found.update(np.ascontiguousarray(array).data)
    found.update(bytes([lines.given]))
    return found.digest()


def _key(lines: bytes, version: str, how: str, options: Options) -> bytes:
    text = msgspec.json.encode([version, how, options], order="sorted")
    return hashlib.blake2b(lines + text, digest_size=16).digest()


def _unpacked(bits: bytes, count: int) -> Said:
    return np.unpackbits(np.frombuffer(zlib.decompress(bits), np.uint8), count=count).astype(np.bool_)
