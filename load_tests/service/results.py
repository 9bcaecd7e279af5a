"""What one run found: its targets and its tables."""

from dataclasses import dataclass

from load_tests.harness.jobs import Percentiles
from load_tests.harness.report import Target, at_least, at_most, table
from load_tests.harness.sizes import Sizes
from load_tests.service import routes
from load_tests.service.retractions import Retractions
from load_tests.service.retries import CLIENTS, FRESH, PER_SECOND, PREDICT, RETRY, Retries
from load_tests.service.routes import Series, latency, middle, ratio
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
    retries: Retries
    retractions: Retractions


def targets(results: Results) -> list[Target]:
    found, sizes, many = results.routes, results.sizes, results.many
    empty, restart, crash = (max(results.starts[name]) for name in STARTS)
    limit, predict, batch = found[routes.LIMIT], found[routes.PREDICT], found[routes.PREDICT_BATCH]
    not_kept = ratio(found[routes.BATCH_NOT_KEPT], found[routes.NOT_KEPT])
    stream = found[routes.PREDICT_STREAM]
    replicated = ratio(found[routes.REPLICATED_FEEDBACK], found[routes.LOCAL_FEEDBACK])
    large = f"a tenant of {sizes.large_features:,} features and {sizes.tail_events:,} events of tail"
    snapshots = f"The slowest request while snapshots of {sizes.large_features:,} features are taken"
    worst = max(each.worst for each in results.stalls.with_snapshot.values())
    retried = results.retries
    fresh = ratio(retried.loads[FRESH], retried.loads[RETRY])
    others = f"Other tenants' p99 while {CLIENTS} clients retry, beside without them"
    small = f"{sizes.tenants:,} tenants of {sizes.tenant_features:,} features in one process"
    return [
        at_least("/predict, requests per second beside the limit", 0.75, ratio(predict, limit)),
        at_most("/predict, p99 beside the limit's", 2.0, ratio(predict, limit, "p99")),
        at_least("/feedback, durable, beside the limit", 0.4, ratio(found[routes.FEEDBACK], limit)),
        at_least("/feedback, replicated to one replica, beside the same store without", 0.5, replicated),
        at_least("/predict/batch, items per second beside /predict", 8.0, ratio(batch, predict)),
        at_least("The same where nothing is kept, beside /predict where nothing is kept", 8.0, not_kept),
        at_least("NDJSON, items per second beside /predict", 8.0, ratio(stream, predict)),
        at_least(f"NDJSON beside /predict/batch (less {NOISE:.0%} for noise)", 1.0 - NOISE, ratio(stream, batch)),
        at_most("A retry of any age, beside new feedback", 3.0, fresh),
        at_most(others, 3.0, retried.disturbed.p99 / retried.quiet.p99),
        at_most("Start with an empty store, to ready", 3.0, empty, " s"),
        at_most(f"Restart, to the first answer of {large}", 3.0, restart, " s"),
        at_most("The same after a crash of the store, too", 3.0, crash, " s"),
        at_most(snapshots, 20.0, worst, " ms"),
        *retraction_targets(results.retractions, sizes.large_features),
        at_most(small, 1.2, many.resident_bytes / GIB, " GiB"),
        at_most("Loading a cold one of them, p99", 20.0, many.loading.p99, " ms"),
    ]


def retraction_targets(found: Retractions, features: int) -> list[Target]:
    newest, hour = found.cases
    first = f"Retracting the newest {len(newest.careless):,} labels of a tenant of {features:,} features"
    among = hour.careless.stop - hour.careless.start
    then = f"Retracting {len(hour.careless):,} of the last {among:,} labels of {hour.labels:,}, of such a tenant"
    return [
        at_most(first, 2.0, max(found.seconds[newest.name]), " s"),
        at_most(then, 10.0, max(found.seconds[hour.name]), " s"),
        at_most("Other tenants' p99 during a retraction, beside without", 2.0, found.disturbed.p99 / found.quiet.p99),
    ]


def parts(results: Results) -> dict[str, str]:
    stalls, sizes, many = results.stalls, results.sizes, results.many
    starts = ((name, ", ".join(f"{each:.2f}" for each in seconds)) for name, seconds in results.starts.items())
    taken = ", ".join(f"{each:.1f}" for each in stalls.snapshot_seconds)
    about = f"Constant traffic around a tenant of {sizes.large_features:,} features. A snapshot took {taken} s."
    cases = {"without": stalls.quiet, "with": stalls.with_snapshot}
    rows = ((kind, case, *_latencies(found[kind])) for kind in stalls.quiet for case, found in cases.items())
    each = (many.resident_bytes - many.empty_bytes) / sizes.tenants
    memory = {
        "tenants": f"{sizes.tenants:,}",
        "features of each": f"{sizes.tenant_features:,}",
        "resident, MiB": f"{many.resident_bytes / MIB:,.0f}",
        "without any tenant, MiB": f"{many.empty_bytes / MIB:,.0f}",
        "each, KiB": f"{each / 2**10:.0f}",
        **dict(zip((f"cold prediction {name}" for name in LATENCIES), _latencies(many.loading), strict=True)),
    }
    return {
        "Routes": _routes_table(results.routes),
        "Retries": _retries_table(results.retries),
        "Starts": table(("start", "seconds"), starts),
        "Snapshots": f"{about}\n\n{table(('requests', 'snapshot', *LATENCIES), rows)}",
        "Retractions": _retractions_table(results.retractions),
        "Many tenants": table([*memory], [[*memory.values()]]),
    }


def _routes_table(found: dict[str, Series]) -> str:
    def beside(name: str, series: Series) -> str:
        return f"{ratio(series, found[routes.LONG_LIMIT if name == routes.LONG_PREDICT else routes.LIMIT]):.2f} x"

    header = ("load", "items per second", "beside the limit", *LATENCIES, "server, us per item")
    rows = (
        (
            name,
            f"{middle(series, 'rate'):,.0f}",
            beside(name, series),
            *_latencies(latency(series)),
            f"{middle(series, 'server_microseconds'):.0f}",
            ", ".join(f"{middle(series, side):.2f}" for side in ("server", "store", "client")),
        )
        for name, series in found.items()
    )
    return table((*header, "cores: server, store, client"), rows)


def _retries_table(retries: Retries) -> str:
    loads = (
        (name, f"{middle(series, 'rate'):,.0f}", *_latencies(latency(series))) for name, series in retries.loads.items()
    )
    quiet = (PREDICT, f"{PER_SECOND:,.0f}", *_latencies(retries.quiet))
    disturbed = (f"the same, while {CLIENTS} clients retry", f"{PER_SECOND:,.0f}", *_latencies(retries.disturbed))
    return table(("load", "requests per second", *LATENCIES), [*loads, quiet, disturbed])


def _retractions_table(found: Retractions) -> str:
    seconds = (", ".join(f"{each:.2f}" for each in found.seconds[case.name]) for case in found.cases)
    numbers = ((case.name, f"{len(case.careless):,}", f"{case.labels:,}") for case in found.cases)
    taken = ((*each, took) for each, took in zip(numbers, seconds, strict=True))
    rows = [(PREDICT, "without", *_latencies(found.quiet)), (PREDICT, "during", *_latencies(found.disturbed))]
    retracted = table(("retracted labels", "their number", "of labels since the import", "seconds"), taken)
    return f"{retracted}\n\n{table(('requests', 'retraction', *LATENCIES), rows)}"


def _latencies(found: Percentiles) -> list[str]:
    return [f"{each:.1f}" for each in (found.p50, found.p99, found.p999, found.worst)]
