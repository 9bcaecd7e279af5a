"""Loads by wrk, which take turns, and what each costs the workers and the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from load_tests.harness.wrk import Peak, wrk
from load_tests.scale.figures import Asked, Figure
from load_tests.scale.sizes import Sizes
from load_tests.scale.watching import Setup, Work

CONNECTIONS = 32


@dataclass(frozen=True, slots=True)
class Load:
    """Requests for one service, whole as they are sent."""

    setup: Setup
    requests: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Turn:
    """One load in one round."""

    peak: Peak
    added: Work
    requests: float


def in_turns(loads: Mapping[str, Load], sizes: Sizes) -> dict[str, Asked]:
    """Every load once in every round, so that a noisy moment hits them alike."""
    turns: dict[str, list[Turn]] = {name: [] for name in loads}
    for _ in range(sizes.rounds):
        for name, load in loads.items():
            turns[name].append(_turn(name, load, sizes.seconds))
    return {name: _asked(some) for name, some in turns.items()}


def _turn(name: str, load: Load, seconds: float) -> Turn:
    before = load.setup.work()
    peak = wrk(load.setup.service.port, load.requests, CONNECTIONS, seconds)
    if peak.bad:
        raise RuntimeError(f"{peak.bad:,} requests of {name!r} were not answered well")
    return Turn(peak, load.setup.work().since(before), peak.rate * max(round(seconds), 1))


def _asked(turns: Sequence[Turn]) -> Asked:
    return Asked(
        rate=Figure([turn.peak.rate for turn in turns]),
        p50=Figure([turn.peak.p50 for turn in turns]),
        p99=Figure([turn.peak.p99 for turn in turns]),
        worker=Figure([1e6 * turn.added.workers / turn.requests for turn in turns]),
        store=Figure([1e6 * turn.added.store / turn.requests for turn in turns]),
        client=Figure([turn.peak.cores for turn in turns]),
    )
