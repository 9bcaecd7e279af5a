"""How much is measured, in earnest and for a trial."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of every measurement."""

    rounds: int
    seconds: float  # of each load in each round; wrk counts in whole seconds
    models: tuple[int, ...]  # features in the model
    examples: tuple[int, ...]  # features in one example
    tenants: tuple[int, ...]  # in one process
    residents: tuple[tuple[int, int], ...]  # features of a tenant, and how many such tenants
    tails: tuple[int, ...]  # events in the log behind the snapshot
    starts: int
    kept: int  # predictions, of one tenant and then of as many tenants
    idle_seconds: float
    store_seconds: float
    followed_tenants: int


WHOLE = Sizes(
    rounds=3,
    seconds=2.0,
    models=(1000, 10_000, 100_000, 1_000_000, 10_000_000),
    examples=(10, 100, 1000, 10_000),
    tenants=(1, 10, 100, 1000, 10_000, 100_000),
    residents=((100, 2000), (1000, 2000), (10_000, 200)),
    tails=(0, 1000, 10_000, 100_000),
    starts=3,
    kept=4000,
    idle_seconds=3.0,
    store_seconds=2.0,
    followed_tenants=1000,
)
QUICK = Sizes(
    rounds=1,
    seconds=1.0,
    models=(1000, 10_000),
    examples=(10, 100),
    tenants=(1, 100),
    residents=((100, 50), (1000, 50)),
    tails=(0, 1000),
    starts=1,
    kept=300,
    idle_seconds=1.0,
    store_seconds=0.5,
    followed_tenants=50,
)
