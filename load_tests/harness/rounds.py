"""Times of candidates in turns: each once per round, so that a noisy moment affects all of them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

ROUNDS = 7


@dataclass(slots=True)
class Seconds:
    """The least time of a run: by the clock, and of all processor cores together."""

    elapsed: float = inf
    processor: float = inf


def best_seconds(
    candidates: Mapping[str, Callable[[], object]],
    rounds: int = ROUNDS,
    before_round: Callable[[], object] = lambda: None,
) -> dict[str, Seconds]:
    """The least disturbed run of each candidate, after one run that is not counted."""
    best = {name: Seconds() for name in candidates}
    for number in range(rounds + 1):
        before_round()
        for name, run in candidates.items():
            elapsed, processor = time.perf_counter(), time.process_time()
            run()
            elapsed, processor = time.perf_counter() - elapsed, time.process_time() - processor
            if number:
                best[name] = Seconds(min(best[name].elapsed, elapsed), min(best[name].processor, processor))
    return best
