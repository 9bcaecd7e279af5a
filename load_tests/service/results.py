"""What one run of the service's benchmark found, and what it was to find."""

from dataclasses import dataclass

from load_tests.harness.report import Target, at_least, at_most
from load_tests.service import routes
from load_tests.service.many_tenants import ManyTenants
from load_tests.service.runs import Series
from load_tests.service.sizes import Sizes
from load_tests.service.stalls import Stalls

NOISE = 0.03  # two loads of the same speed come out so different
GIB = 2**30


@dataclass(frozen=True, slots=True)
class Starts:
    """Seconds from the start of the process, of several starts each."""

    empty: list[float]
    restarts: list[float]  # after kill -9 of the service; its store has outlived it
    crashes: list[float]  # after kill -9 of both


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was measured."""

    sizes: Sizes
    machine: list[str]
    load_averages: tuple[float, float]
    routes: dict[str, Series]
    starts: Starts
    stalls: Stalls
    many: ManyTenants


def targets(results: Results) -> list[Target]:
    """All targets of the service."""
    return [*_routes(results.routes), *_starts(results), *_stalls(results), *_many(results.many)]


def _routes(found: dict[str, Series]) -> list[Target]:
    limit, predict, batch = found[routes.LIMIT], found[routes.PREDICT], found[routes.PREDICT_BATCH]
    stream = found[routes.PREDICT_STREAM]
    return [
        at_least("/predict, requests per second beside the limit", 0.75, predict.rate_beside(limit)),
        at_most("/predict, p99 beside the limit's", 2.0, predict.p99_beside(limit)),
        at_least("/feedback, durable, beside the limit", 0.4, found[routes.FEEDBACK].rate_beside(limit)),
        at_least("/predict/batch, items per second beside /predict", 8.0, batch.rate_beside(predict)),
        at_least(
            "The same where nothing is kept, beside /predict where nothing is kept",
            8.0,
            found[routes.BATCH_NOT_KEPT].rate_beside(found[routes.NOT_KEPT]),
        ),
        at_least("NDJSON, items per second beside /predict", 8.0, stream.rate_beside(predict)),
        at_least(f"NDJSON beside /predict/batch (less {NOISE:.0%} for noise)", 1.0 - NOISE, stream.rate_beside(batch)),
    ]


def _starts(results: Results) -> list[Target]:
    starts, sizes = results.starts, results.sizes
    tenant = f"a tenant of {sizes.features:,} features and {sizes.tail_events:,} events of tail"
    return [
        at_most("Start with an empty store, to ready", 3.0, max(starts.empty), " s"),
        at_most(f"Restart, to the first answer of {tenant}", 3.0, max(starts.restarts), " s"),
        at_most("The same after a crash of the store, too", 3.0, max(starts.crashes), " s"),
    ]


def _stalls(results: Results) -> list[Target]:
    text = f"The slowest request while snapshots of {results.sizes.features:,} features are taken"
    return [at_most(text, 20.0, results.stalls.worst, " ms")]


def _many(many: ManyTenants) -> list[Target]:
    size = f"{many.tenants:,} tenants of {many.features:,} features"
    return [
        at_most(f"{size} in one process", 1.2, many.resident_bytes / GIB, " GiB"),
        at_most("Loading a cold one of them, p99", 20.0, many.loading.p99, " ms"),
    ]
