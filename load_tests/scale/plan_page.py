"""The section of docs/scaling.md that follows from the measurements."""

from dataclasses import replace

from load_tests.harness.report import table
from load_tests.harness.traffic import FEATURES as EXAMPLE_FEATURES
from load_tests.scale.assumptions import DAY_SECONDS, FEATURES, GIB, Choices, Demand, Prices, UnitCosts, unit_costs
from load_tests.scale.plan import Plan, bill, ceilings, limits, plan
from load_tests.scale.results import Results
from load_tests.scale.shards import Popularity, by_ranges, shards_for

CHOSEN = Choices()
VARIANTS = {
    "as planned: predictions are kept for an hour, 100 events of each log": CHOSEN,
    "nothing is kept, feedback brings its features": replace(CHOSEN, keep=False),
    "the defaults: predictions for a day, 100,000 events": replace(
        CHOSEN, kept_seconds=DAY_SECONDS, retained_events=100_000
    ),
}
HELD = (1.0, 0.3, 0.1, 0.01)
KIB = 1024.0


def plan_section(results: Results, demand: Demand | None = None) -> str:
    """Everything between the marks."""
    demand, costs = demand or Demand(), unit_costs(results)
    popularity = Popularity.of(demand.tenants)
    made = plan(costs, demand, CHOSEN, popularity)
    variants = {name: plan(costs, demand, choices, popularity) for name, choices in VARIANTS.items()}
    held = [plan(costs, demand, replace(CHOSEN, held=share), popularity) for share in HELD]
    used = ((name, f"{share:.0%}") for name, share in limits(made).items())
    growth = ((name, f"{times:,.1f} times") for name, times in ceilings(made, costs).items())
    parts = {
        "What is assumed": _assumed(demand, popularity),
        "What was measured": _measured(costs),
        "What is needed": _needed(made, costs),
        "How full it is at the peak": table(("what", "used at the peak"), used),
        "Where more machines do not help": table(("what happens", "at this many times the requests"), growth),
        "What is kept decides": _variants(variants),
        "All tenants in memory, or only some": _held(held),
        "What it costs": _prices(made),
    }
    return "\n\n".join(f"### {title}\n{text}" for title, text in parts.items())


def _assumed(demand: Demand, popularity: Popularity) -> str:
    choices, mean = CHOSEN, demand.predictions / demand.peak
    kept, memory = choices.kept_seconds / 3600, choices.shard_bytes / GIB
    rows = [
        ("predictions a day", f"{demand.predictions_per_day:,.0f}: {mean:,.0f} a second in the mean"),
        ("at the peak", f"{demand.peak:g} times the mean: {demand.predictions:,.0f} a second"),
        ("labels", f"{demand.labelled:.0%} of the predictions: {demand.labels:,.0f} a second at the peak"),
        ("tenants", f"{demand.tenants:,}, by Zipf's law: the hottest has {popularity.hottest:.1%} of all requests"),
        ("features", f"{EXAMPLE_FEATURES} in an example, {FEATURES:,} in a tenant's model"),
        ("headroom", f"what machines can be added for is used up to {choices.used:.0%} at the peak"),
        ("the fullest worker", f"has {choices.balance:g} times the mean at most: the balancer sees to it"),
        ("predictions are kept", f"for {kept:g} h, {choices.kept_of_each:,} of a tenant at most"),
        ("logs", f"of {choices.log_days:g} days, but no more than {choices.retained_events:,} events of a tenant"),
        ("snapshots", f"every {choices.snapshot_seconds:g} s of every tenant that was labelled meanwhile"),
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
    alone = (made.choices.used - made.following) / costs.predict.workers / made.demand.peak * DAY_SECONDS
    growth = made.demand.labels_per_day * costs.event_bytes / GIB
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


def _variants(plans: dict[str, Plan]) -> str:
    def row(name: str, made: Plan) -> tuple[object, ...]:
        stored, written = (sum(some.values()) / GIB for some in (made.store_bytes, made.disk_bytes_per_day))
        shards = "none are enough" if made.shards is None else made.shards
        return (name, made.workers, shards, f"{stored:,.0f}", f"{written:,.0f}", _dollars(made))

    header = ("what is kept", "workers", "shards", "memory of all primaries, GiB", "written in a day, GiB", "a month")
    return table(header, (row(name, made) for name, made in plans.items()))


def _held(plans: list[Plan]) -> str:
    def row(made: Plan) -> tuple[object, ...]:
        loads, share, memory = made.loads, made.loads / made.demand.predictions, made.worker_bytes / GIB
        cost = _dollars(made)
        return (f"{made.choices.held:.0%}", f"{loads:,.0f}", f"{share:.1%}", made.workers, f"{memory:.1f}", cost)

    header = ("held", "loads per second", "share of requests that wait for one", "workers", "memory of each, GiB")
    return table((*header, "a month"), map(row, plans))


def _prices(made: Plan) -> str:
    prices, found = Prices(), bill(made, Prices())
    if found is None:
        return "No number of shards is enough."
    core, gib, disk = prices.core_hour, prices.gib_hour, prices.disk_gib_month
    each = (*(f"{price:g} an hour" for price in (core, gib, core, gib)), f"{disk:g} a month")
    rows = ((what, f"{amount:,.0f}", price) for (what, (amount, _)), price in zip(found.items(), each, strict=True))
    cents = 100 * _total(found) / (made.demand.predictions_per_day * 30.4 / 1e6)
    return (
        "The prices are assumed, in dollars, of the order of cloud prices, without traffic and people.\n\n"
        + table(("what", "how many", "assumed price of each"), rows)
        + f"\n\nTogether {_dollars(made)} a month: {cents:.1f} cents for a million predictions."
    )


def _dollars(made: Plan) -> str:
    found = bill(made, Prices())
    return "" if found is None else f"${_total(found):,.0f}"


def _total(found: dict[str, tuple[float, float]]) -> float:
    return sum(dollars for _, dollars in found.values())
