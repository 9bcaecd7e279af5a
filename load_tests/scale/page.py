"""The section of docs/performance.md: the tables of a run."""

from collections.abc import Iterable

from load_tests.harness.report import machine_list, table
from load_tests.harness.traffic import FEATURES
from load_tests.scale.assumptions import event_bytes
from load_tests.scale.results import Cost, Costs, Results, struct_table

COSTS = ("worker, us", "store, us", "p50, ms", "p99, ms", "per second")


def scale_section(results: Results) -> str:
    sizes, models, examples = results.sizes, results.models, results.examples
    parts = [
        machine_list(results.machine, results.load_averages, own="1 to 2"),
        f"The run took {results.minutes:.0f} minutes. Rounds: {sizes.scale_rounds}, of {sizes.wrk_seconds:g} s each.",
        "### Workers",
        *_workers(results),
        "### Features in the model",
        _plot("features", "Cost of a request against the number of features in the model"),
        _costs(("features", "route"), (((f"{found.features:,}",), found.costs) for found in models)),
        struct_table(models),
        "### Features of an example",
        _plot("example", "Cost of a request against the number of features of its example"),
        _costs(
            ("features", "bytes of the body", "route"),
            (((f"{found.features:,}", f"{found.body_bytes:,}"), found.costs) for found in examples),
        ),
        "### Tenants in memory",
        _plot("tenants", "Predictions per second, and memory, against the number of tenants"),
        _costs(("tenants", "/predict"), (((f"{found.tenants:,}",), found.costs) for found in results.tenants)),
        struct_table(results.tenants),
        "### What a tenant takes",
        struct_table(results.residents),
        "### Log length at a restart",
        _plot("restart", "Time of a restart against the number of events behind the snapshot"),
        struct_table(results.tails),
        "### Memory of the store",
        _store_memory(results),
        "### What one store writes",
        struct_table(results.store),
        "### Following",
        struct_table(results.following),
        f"Requests for {sizes.followed_tenants:,} tenants by Zipf's law, one worker:",
        _costs(("store", "route"), (((found.store,), found.costs) for found in results.following)),
    ]
    return "\n\n".join(parts)


def _costs(header: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], Costs]]) -> str:
    """A row for each kind of request."""
    cells = ((*first, kind, *_cost(cost)) for first, costs in rows for kind, cost in costs.items())
    return table((*header, *COSTS), cells)


def _cost(cost: Cost) -> tuple[str, ...]:
    return cost.worker.text(), cost.store.text(), cost.p50.text(1), cost.p99.text(1), cost.rate.text()


def _workers(results: Results) -> tuple[str, str]:
    """One worker beside two, and how much more two serve."""
    one, two = results.workers[1], results.workers[2]
    rows = (
        (load, workers, *_cost(costs[load]), costs[load].client.text(2))
        for load in one
        for workers, costs in results.workers.items()
    )
    predict, mixed = (two[load].rate.median / one[load].rate.median for load in one)
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
