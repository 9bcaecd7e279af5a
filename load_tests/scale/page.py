"""The section of docs/performance.md: the tables of a run."""

from collections.abc import Callable, Iterable
from typing import Any

from load_tests.harness.report import machine_list, table
from load_tests.harness.traffic import FEATURES
from load_tests.scale.assumptions import event_bytes
from load_tests.scale.results import Cost, Costs, Results

KIB, MIB = float(1 << 10), float(1 << 20)

Column = tuple[str, Callable[[Any], object], str]  # header, value, format

MODELS: list[Column] = [
    ("features", lambda found: found.features, ","),
    ("worker, MiB", lambda found: found.resident_bytes / MIB, ",.1f"),
    ("bytes per feature", lambda found: found.resident_bytes / found.features, ",.0f"),
    ("store, MiB", lambda found: found.store_bytes / MIB, ",.1f"),
    ("bytes per feature", lambda found: found.store_bytes / found.features, ",.0f"),
    ("to load, s", lambda found: found.load_seconds, ".2f"),
]
TENANTS: list[Column] = [
    ("tenants", lambda found: found.tenants, ","),
    ("start to ready, s", lambda found: found.start_seconds, ".1f"),
    ("/readyz, ms", lambda found: found.ready_milliseconds, ".1f"),
    ("worker, MiB", lambda found: found.resident_bytes / MIB, ",.0f"),
    ("KiB per tenant", lambda found: found.bytes_each / KIB, ",.0f"),
    ("to load each: worker, us", lambda found: found.load_microseconds, ",.0f"),
    ("worker idle, cores", lambda found: found.idle.workers, ".3f"),
    ("store idle, cores", lambda found: found.idle.store, ".3f"),
]
RESIDENTS: list[Column] = [
    ("features", lambda found: found.features, ","),
    ("worker, KiB", lambda found: found.resident_bytes / KIB, ",.0f"),
    ("store, KiB", lambda found: found.store_bytes / KIB, ",.0f"),
    ("to load: worker, us", lambda found: found.load_microseconds, ",.0f"),
    ("to load: store, us", lambda found: found.load_store_microseconds, ",.0f"),
    ("to load: p50, ms", lambda found: found.load_p50, ".1f"),
    ("to load: p99, ms", lambda found: found.load_p99, ".1f"),
    ("a snapshot: worker, us", lambda found: found.snapshot_microseconds, ",.0f"),
    ("a snapshot: written, KiB", lambda found: found.snapshot_bytes / KIB, ",.0f"),
]
TAILS: list[Column] = [
    ("events behind the snapshot", lambda found: found.events, ","),
    ("to ready, s", lambda found: found.ready_seconds.text(2), ""),
    ("to the tenant's first answer, s", lambda found: found.first_answer_seconds.text(2), ""),
]
WRITES: list[Column] = [
    ("writes", lambda found: found.kind, ""),
    ("on their way at once", lambda found: found.connections, ""),
    ("per second", lambda found: found.rate, ",.0f"),
    ("store, us", lambda found: 1e6 * found.cores / found.rate, ".0f"),
    ("store, cores", lambda found: found.cores, ".2f"),
    ("to disk, MB/s", lambda found: found.rate * found.disk_bytes / 1e6, ".1f"),
]
FOLLOWERS: list[Column] = [
    ("store", lambda found: found.store, ""),
    ("store without a worker, cores", lambda found: found.alone, ".3f"),
    ("worker idle, cores", lambda found: found.idle.workers, ".3f"),
    ("store idle, cores", lambda found: found.idle.store, ".3f"),
    ("a second worker, cores", lambda found: found.quiet.workers, ".3f"),
    ("the same while others are labelled, cores", lambda found: found.follower.workers, ".3f"),
    ("store then, with all its work, cores", lambda found: found.follower.store, ".3f"),
    ("for each label, us", lambda found: found.label_microseconds, ".0f"),
]


def scale_section(results: Results) -> str:
    """The whole section."""
    sizes, resumed = results.sizes, "; ".join(results.resumed)
    models, examples = results.models, results.examples
    parts = [
        machine_list(results.machine, results.load_averages, own="1 to 2"),
        f"The run took {results.minutes:.0f} minutes. "
        f"Rounds: {sizes.scale_rounds}, of {sizes.wrk_seconds:g} s for each load."
        + (f" Taken over from an earlier run: {resumed}." if resumed else ""),
        "### Workers",
        *_workers(results),
        "### Features in the model",
        _plot("features", "Cost of a request against the number of features in the model"),
        _costs(("features", "route"), (((f"{found.features:,}",), found.costs) for found in models)),
        _table(MODELS, models),
        "### Features of an example",
        _plot("example", "Cost of a request against the number of features of its example"),
        _costs(
            ("features", "bytes of the body", "route"),
            (((f"{found.features:,}", f"{found.body_bytes:,}"), found.costs) for found in examples),
        ),
        "### Tenants in memory",
        _plot("tenants", "Predictions per second, and memory, against the number of tenants"),
        _costs(("tenants", "/predict"), (((f"{found.tenants:,}",), found.costs) for found in results.tenants)),
        _table(TENANTS, results.tenants),
        "### What a tenant takes",
        _table(RESIDENTS, results.residents),
        "### Log length at a restart",
        _plot("restart", "Time of a restart against the number of events behind the snapshot"),
        _table(TAILS, results.tails),
        "### Memory of the store",
        _store_memory(results),
        "### What one store writes",
        _table(WRITES, results.store),
        "### Following",
        _table(FOLLOWERS, results.following),
        f"Requests for {sizes.followed_tenants:,} tenants by Zipf's law, one worker:",
        _costs(("store", "route"), (((found.store,), found.costs) for found in results.following)),
    ]
    return "\n\n".join(parts)


def _table(columns: list[Column], rows: Iterable[object]) -> str:
    return table(
        tuple(header for header, *_ in columns),
        (tuple(format(value(row), form) for _, value, form in columns) for row in rows),
    )


COSTS = ("worker, us", "store, us", "p50, ms", "p99, ms", "per second")


def _costs(header: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], Costs]]) -> str:
    """A row for each kind of request."""
    cells = ((*first, kind, *_cost(cost)) for first, costs in rows for kind, cost in costs.items())
    return table((*header, *COSTS), cells)


def _cost(cost: Cost) -> tuple[str, ...]:
    return cost.worker.text(), cost.store.text(), cost.p50.text(1), cost.p99.text(1), cost.rate.text()


def _workers(results: Results) -> tuple[str, str]:
    """One worker beside two, and how much more two serve."""
    one, two = results.workers[0], results.workers[-1]
    rows = (
        (load, found.workers, *_cost(found.costs[load]), found.costs[load].client.text(2))
        for load in one.costs
        for found in results.workers
    )
    predict, mixed = (two.costs[load].rate.median / one.costs[load].rate.median for load in one.costs)
    text = (
        f"Two workers serve {predict:.2f} times as many predictions as one, and {mixed:.2f} times as much of the mixed "
        "day. They share two cores with the store and the client."
    )
    return table(("load", "workers", *COSTS, "client, cores"), rows), text


def _store_memory(results: Results) -> str:
    kept, largest = results.kept, results.models[-1]
    rows = {
        f"an event of {FEATURES} features in a log": event_bytes(results),
        f"a kept prediction of {FEATURES} features, all of one tenant": kept.bytes_together,
        "the same, each of another tenant": kept.bytes_apart,
        "a tenant that has learnt nothing yet": kept.bytes_of_tenant,
        f"a feature of a snapshot of {largest.features:,}": largest.store_bytes / largest.features,
    }
    return table(("what", "bytes"), ((name, f"{value:,.0f}") for name, value in rows.items()))


def _plot(name: str, text: str) -> str:
    return f"![{text}](performance/{name}.svg)"
