"""The sections of a run: the tables of docs/performance.md, and the plan of docs/scaling.md."""

from collections.abc import Iterable
from dataclasses import replace

from load_tests.harness.report import bullets, table, table_of
from load_tests.harness.traffic import FEATURES as EXAMPLE_FEATURES
from load_tests.scale.assumptions import DAY_SECONDS, FEATURES, GIB, Assumptions, UnitCosts, event_bytes
from load_tests.scale.plan import Plan, Popularity, bill, by_ranges, ceilings, limits, shards_for
from load_tests.scale.results import Cost, Costs, Results, struct_table

COSTS = ("worker, us", "store, us", "p50, ms", "p99, ms", "per second")
ASSUMED = Assumptions()
VARIANTS = {
    "as planned: predictions are kept for an hour, 100 events of each log": ASSUMED,
    "nothing is kept, feedback brings its features": replace(ASSUMED, keep=False),
    "the defaults: predictions for a day, 100,000 events": replace(
        ASSUMED, kept_seconds=DAY_SECONDS, retained_events=100_000
    ),
}
HELD = (1.0, 0.3, 0.1, 0.01)
KIB = 1024.0


def scale_section(results: Results) -> str:
    sizes, models, examples = results.sizes, results.models, results.examples
    parts = [
        bullets(results.machine),
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
    cells = ((*first, kind, *_cost(cost)) for first, costs in rows for kind, cost in costs.items())
    return table((*header, *COSTS), cells)


def _cost(cost: Cost) -> tuple[str, ...]:
    return cost.worker.text(), cost.store.text(), cost.p50.text(1), cost.p99.text(1), cost.rate.text()


def _workers(results: Results) -> tuple[str, str]:
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
        f"an event of {EXAMPLE_FEATURES} features in a log": event_bytes(results),
        f"a kept prediction of {EXAMPLE_FEATURES} features, all of one tenant": kept.bytes_together,
        "the same, each of another tenant": kept.bytes_apart,
        "a tenant that has learnt nothing yet": kept.bytes_of_tenant,
        f"a feature of a snapshot of {largest.features:,}": largest.store_bytes / largest.features,
    }
    return table(("what", "bytes"), ((name, f"{value:,.0f}") for name, value in rows.items()))


def _plot(name: str, text: str) -> str:
    return f"![{text}](performance/{name}.svg)"


def plan_section(results: Results) -> str:
    costs, popularity = UnitCosts(results), Popularity.of(ASSUMED.tenants)
    made = Plan(costs, ASSUMED, popularity)
    variants = [(name, Plan(costs, assumed, popularity)) for name, assumed in VARIANTS.items()]
    held = [Plan(costs, replace(ASSUMED, held=share), popularity) for share in HELD]
    used = ((name, f"{share:.0%}") for name, share in limits(made).items())
    growth = ((name, f"{times:,.1f} times") for name, times in ceilings(made, costs).items())
    parts = {
        "What is assumed": _assumed(popularity),
        "What was measured": _measured(costs),
        "What is needed": _needed(made, costs),
        "How full it is at the peak": table(("what", "used at the peak"), used),
        "Where more machines do not help": table(("what happens", "at this many times the requests"), growth),
        "What is kept decides": table_of(
            variants,
            ("what is kept", lambda row: row[0]),
            ("workers", lambda row: row[1].workers),
            ("shards", lambda row: "none are enough" if row[1].shards is None else row[1].shards),
            ("memory of all primaries, GiB", lambda row: f"{sum(row[1].store_bytes.values()) / GIB:,.0f}"),
            ("written in a day, GiB", lambda row: f"{sum(row[1].disk_bytes_per_day.values()) / GIB:,.0f}"),
            ("a month", lambda row: _dollars(row[1])),
        ),
        "All tenants in memory, or only some": table_of(
            held,
            ("held", lambda made: f"{made.assumed.held:.0%}"),
            ("loads per second", lambda made: f"{made.loads:,.0f}"),
            ("share of requests that wait for one", lambda made: f"{made.loads / made.assumed.predictions:.1%}"),
            ("workers", lambda made: made.workers),
            ("memory of each, GiB", lambda made: f"{made.worker_bytes / GIB:.1f}"),
            ("a month", _dollars),
        ),
        "What it costs": _prices(made),
    }
    return "\n\n".join(f"### {title}\n{text}" for title, text in parts.items())


def _assumed(popularity: Popularity) -> str:
    some, mean = ASSUMED, ASSUMED.predictions / ASSUMED.peak
    kept, memory = some.kept_seconds / 3600, some.shard_bytes / GIB
    rows = [
        ("predictions a day", f"{some.predictions_per_day:,.0f}: {mean:,.0f} a second in the mean"),
        ("at the peak", f"{some.peak:g} times the mean: {some.predictions:,.0f} a second"),
        ("labels", f"{some.labelled:.0%} of the predictions: {some.labels:,.0f} a second at the peak"),
        ("tenants", f"{some.tenants:,}, by Zipf's law: the hottest has {popularity.hottest:.1%} of all requests"),
        ("features", f"{EXAMPLE_FEATURES} in an example, {FEATURES:,} in a tenant's model"),
        ("headroom", f"what machines can be added for is used up to {some.used:.0%} at the peak"),
        ("the fullest worker", f"has {some.balance:g} times the mean at most: the balancer sees to it"),
        ("predictions are kept", f"for {kept:g} h, {some.kept_of_each:,} of a tenant at most"),
        ("logs", f"of {some.log_days:g} days, but no more than {some.retained_events:,} events of a tenant"),
        ("snapshots", f"every {some.snapshot_seconds:g} s of every tenant that was labelled meanwhile"),
        ("a shard", f"has {memory:g} GiB of memory, a disk as fast as the one measured, and a replica"),
    ]
    return table(("what", "how much"), rows)


def _measured(costs: UnitCosts) -> str:
    def us(seconds: float, places: int = 0) -> str:
        return f"{1e6 * seconds:.{places}f} us"

    idle, memory = costs.following, costs.tenant_bytes
    rows = [
        ("/predict, its input kept", us(costs.predict.workers), us(costs.predict.store)),
        ("/predict, not kept", us(costs.not_kept.workers), ""),
        ("/feedback", us(costs.label.workers), us(costs.label.store)),
        ("loading a tenant", us(costs.load.workers), us(costs.load.store)),
        ("a snapshot of it", us(costs.snapshot.workers), ""),
        ("following, all the time", f"{idle.workers:.3f} cores", f"{idle.store:.3f} cores for each worker"),
        ("following, for each label of anybody", us(costs.follow_seconds), ""),
        ("memory without tenants", f"{costs.worker_bytes / KIB / KIB:.0f} MiB", ""),
        ("memory of a tenant", f"{memory.workers / KIB:.0f} KiB", f"{memory.store / KIB:.0f} KiB"),
        ("memory of an event in the log", "", f"{costs.event_bytes:,.0f} bytes"),
        ("memory of a kept prediction", "", f"{costs.kept_bytes:,.0f} bytes"),
        ("writing a label durably", "", us(costs.label_write_seconds)),
        ("writing a block of kept predictions", "", us(costs.block_write_seconds)),
        ("... and for each prediction in it", "", us(costs.kept_write_seconds, 1)),
        ("on the wire: request and answer", f"{costs.request_bytes:,.0f} + {costs.answer_bytes:,.0f} bytes", ""),
    ]
    return table(("what", "a worker", "a store"), rows)


def _needed(made: Plan, costs: UnitCosts) -> str:
    alone = (made.assumed.used - made.following) / costs.predict.workers / made.assumed.peak * DAY_SECONDS
    growth = made.assumed.labels_per_day * costs.event_bytes / GIB
    rows = [
        ("workers, each a service of its own with one core", f"{made.workers:,}"),
        ("predictions of one of them in a day", f"{alone:,.0f}, if it had nothing else to do"),
        ("cores that are busy in them", _sum(made.worker_cores, 1.0, ".1f")),
        ("memory of each", f"{made.worker_bytes / GIB:.1f} GiB"),
        ("shards, if tags are dealt out one by one", _shards(made.shards)),
        ("shards, if slots are dealt out in ranges", _shards(shards_for(made.needs.values(), by_ranges))),
        ("stores, if all were even, for", ", ".join(f"{what} {need.stores:.1f}" for what, need in made.needs.items())),
        ("memory of all primaries", _sum(made.store_bytes, GIB, ",.0f", " GiB")),
        ("logs grow in a day", f"by {growth:,.0f} GiB, until every tenant has the events that are retained"),
        ("cores that are busy in them", _sum(made.store_cores, 1.0, ".2f")),
        ("written to their disks in a day", _sum(made.disk_bytes_per_day, GIB, ",.0f", " GiB")),
        ("between clients and workers", f"{8 * made.wire_bytes / 1e9:.2f} Gbit a second"),
    ]
    return table(("what", "how much"), rows)


def _shards(shards: int | None) -> str:
    return "no number is enough" if shards is None else f"{shards}, and as many replicas"


def _sum(parts: dict[str, float], unit: float, form: str, name: str = "") -> str:
    each = ", ".join(f"{kind} {value / unit:{form}}" for kind, value in parts.items())
    return f"{sum(parts.values()) / unit:{form}}{name} ({each})"


def _prices(made: Plan) -> str:
    if (found := bill(made)) is None:
        return "No number of shards is enough."
    rows = ((what, f"{amount:,.0f}", price) for what, (amount, _, price) in found.items())
    dollars = sum(dollars for _, dollars, _ in found.values())
    cents = 100 * dollars / (made.assumed.predictions_per_day * 30.4 / 1e6)
    return (
        "The prices are assumed, in dollars, of the order of cloud prices, without traffic and people.\n\n"
        + table(("what", "how many", "assumed price of each"), rows)
        + f"\n\nTogether {_dollars(made)} a month: {cents:.1f} cents for a million predictions."
    )


def _dollars(made: Plan) -> str:
    return "" if (found := bill(made)) is None else f"${sum(dollars for _, dollars, _ in found.values()):,.0f}"
