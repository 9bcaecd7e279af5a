"""What one run found: its targets and its tables."""

from dataclasses import dataclass
from textwrap import fill

from load_tests.harness.jobs import Percentiles
from load_tests.harness.report import COLUMNS, Target, at_least, at_most, shown, table, table_of
from load_tests.harness.sizes import Sizes
from load_tests.service import routes
from load_tests.service.routes import Series
from load_tests.service.tenants import ManyTenants, Stalls

NOISE = 0.03  # two loads of the same speed differ by as much
LATENCIES = ("p50, ms", "p99, ms", "p99.9, ms", "worst, ms")
MIB, GIB = 2**20, 2**30
STARTS = (
    "empty store, to ready",
    "large tenant, the service was killed",  # -9, while its store went on
    "large tenant, its store was killed, too",
)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was measured."""

    sizes: Sizes
    routes: dict[str, Series]
    starts: dict[str, list[float]]  # seconds of several starts each, by the names in STARTS
    stalls: Stalls
    many: ManyTenants


def targets(results: Results) -> list[Target]:
    """All targets of the service."""
    found, sizes, many = results.routes, results.sizes, results.many
    empty, restart, crash = (max(results.starts[name]) for name in STARTS)
    limit, predict, batch = found[routes.LIMIT], found[routes.PREDICT], found[routes.PREDICT_BATCH]
    not_kept = found[routes.BATCH_NOT_KEPT].rate_beside(found[routes.NOT_KEPT])
    stream = found[routes.PREDICT_STREAM]
    large = f"a tenant of {sizes.large_features:,} features and {sizes.tail_events:,} events of tail"
    snapshots = f"The slowest request while snapshots of {sizes.large_features:,} features are taken"
    worst = max(each.worst for each in results.stalls.with_snapshot.values())
    small = f"{many.tenants:,} tenants of {many.features:,} features in one process"
    return [
        at_least("/predict, requests per second beside the limit", 0.75, predict.rate_beside(limit)),
        at_most("/predict, p99 beside the limit's", 2.0, predict.p99_beside(limit)),
        at_least("/feedback, durable, beside the limit", 0.4, found[routes.FEEDBACK].rate_beside(limit)),
        at_least("/predict/batch, items per second beside /predict", 8.0, batch.rate_beside(predict)),
        at_least("The same where nothing is kept, beside /predict where nothing is kept", 8.0, not_kept),
        at_least("NDJSON, items per second beside /predict", 8.0, stream.rate_beside(predict)),
        at_least(f"NDJSON beside /predict/batch (less {NOISE:.0%} for noise)", 1.0 - NOISE, stream.rate_beside(batch)),
        at_most("Start with an empty store, to ready", 3.0, empty, " s"),
        at_most(f"Restart, to the first answer of {large}", 3.0, restart, " s"),
        at_most("The same after a crash of the store, too", 3.0, crash, " s"),
        at_most(snapshots, 20.0, worst, " ms"),
        at_most(small, 1.2, many.resident_bytes / GIB, " GiB"),
        at_most("Loading a cold one of them, p99", 20.0, many.loading.p99, " ms"),
    ]


def parts(results: Results) -> dict[str, str]:
    """The tables by title."""
    stalls = results.stalls
    cases = {"without": stalls.quiet, "with": stalls.with_snapshot}
    rows = ((kind, case, *_latencies(found[kind])) for kind in stalls.quiet for case, found in cases.items())
    about = (
        f"Constant traffic around a tenant of {results.sizes.large_features:,} features. A snapshot took "
        f"{_listed(stalls.snapshot_seconds, '.1f')} s."
    )
    return {
        "Routes": routes_table(results.routes),
        "Starts": table_of(
            results.starts.items(), ("start", lambda row: row[0]), ("seconds", lambda row: _listed(row[1]))
        ),
        "Snapshots": f"{about}\n\n{table(('requests', 'snapshot', *LATENCIES), rows)}",
        "Many tenants": _many(results.many),
    }


def routes_table(found: dict[str, Series]) -> str:
    """Each load beside the limit."""
    header = ("load", "items per second", "beside the limit", *LATENCIES, "server, us per item")
    rows = []
    for name, series in found.items():
        limit = found[routes.LONG_LIMIT if name == routes.LONG_PREDICT else routes.LIMIT]
        rates = (f"{series.median('rate'):,.0f}", f"{series.rate_beside(limit):.2f} x")
        cores = ", ".join(f"{series.median(side):.2f}" for side in ("server", "store", "client"))
        rows.append((name, *rates, *_latencies(series.latency), f"{series.server_microseconds:.0f}", cores))
    return table((*header, "cores: server, store, client"), rows)


def _latencies(found: Percentiles | None) -> list[str]:
    return [shown(getattr(found, name, None), ".1f") for name in ("p50", "p99", "p999", "worst")]


def _listed(seconds: list[float], form: str = ".2f") -> str:
    return ", ".join(f"{each:{form}}" for each in seconds)


def _many(many: ManyTenants) -> str:
    each = (many.resident_bytes - many.empty_bytes) / many.tenants
    text = (
        f"{many.tenants:,} tenants of {many.features:,} features with their names: {many.resident_bytes / MIB:,.0f} "
        f"MiB resident, of which {many.empty_bytes / MIB:,.0f} MiB are there without any; {each / 2**10:.0f} KiB for "
        f"each. The first prediction of a cold tenant, loading included: p50 {many.loading.p50:.1f} ms, "
        f"p99 {many.loading.p99:.1f} ms, p99.9 {many.loading.p999:.1f} ms, the worst {many.loading.worst:.1f} ms."
    )
    return fill(text, COLUMNS)
