"""Digests that must never change silently: `python -m tests.learning.golden` rewrites them.

Do that only with a changelog entry tagged *numbers change*: the state of every replica depends on it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from app.learning.config import Value
from app.learning.events import (
    Event,
    FeaturesRemoved,
    FeedbackGiven,
    LabelRetracted,
    RetractionMade,
    Served,
    TenantConfigured,
)
from app.learning.example import example_of
from app.learning.replay import replay
from kernels.registry import ALGORITHMS, load

FILE = Path(__file__).parent / "golden.json"
ENCODED: dict[str, Value] = {"numbers": "encoded"}
ENTRIES: dict[str, dict[str, Value]] = {
    **{name: {"algorithm": name} for name in ALGORITHMS},
    "cs-ssol, numbers encoded": {"algorithm": "cs-ssol", **ENCODED},
    "cs-sol, numbers encoded": {"algorithm": "cs-sol", **ENCODED},
    "cs-sol, numbers encoded, threshold auto": {"algorithm": "cs-sol", **ENCODED, "threshold": "auto"},
    "cs-ssol, labels taken back": {"algorithm": "cs-ssol"},
    "cs-sol, numbers encoded, labels taken back": {"algorithm": "cs-sol", **ENCODED, "threshold": "auto"},
}
TAKEN_BACK = "labels taken back"
WISHES = {"target_sparsity": 0.5, "forgetting": 0.001, "bias": True}


def golden_log(entry: str) -> Iterator[Event]:
    """A log of feedback, settings and removals from our own generator, so that no library can change it."""
    if not entry.endswith(TAKEN_BACK):
        yield from _golden_log(entry)
        return
    for number, event in enumerate(_golden_log(entry)):
        is_taken_back = isinstance(event, FeedbackGiven) and number % 7 == 3
        yield LabelRetracted(event.example) if is_taken_back else event  # type: ignore[union-attr]
        if number % 500 == 499:
            yield RetractionMade(frozenset({b"earlier labels"}))


def _golden_log(entry: str) -> Iterator[Event]:
    yield TenantConfigured(ENTRIES[entry])
    yield from _feedback(seed=1, examples=1500)
    options = load(str(ENTRIES[entry]["algorithm"])).options | {"bias"}
    yield TenantConfigured({name: value for name, value in WISHES.items() if name in options})
    yield from _feedback(seed=2, examples=1500)
    yield FeaturesRemoved(weight_at_most=0.01, evidence_at_most=1.0)
    yield from _feedback(seed=3, examples=500)


def digests(entries: Iterable[str]) -> dict[str, str]:
    return {entry: replay(golden_log(entry)).digest for entry in entries}


def _feedback(seed: int, examples: int) -> Iterator[Event]:
    numbers = _numbers(seed)
    for _ in range(examples):
        features = {f"f{next(numbers) % 600}": (next(numbers) % 2001 - 1000) / 500.0 for _ in range(next(numbers) % 12)}
        signal = sum(value for name, value in features.items() if name.endswith("7"))
        served = Served(label=1 if len(features) > 5 else -1, score=0.0) if len(features) % 3 else None
        yield FeedbackGiven(example_of(features), 1 if signal > 0.5 else -1, served)


def _numbers(seed: int) -> Iterator[int]:
    """Knuth's linear congruential generator: exact integers on every machine."""
    state = seed
    while True:
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        yield state >> 33


if __name__ == "__main__":
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(digests(ENTRIES))) + b"\n")
