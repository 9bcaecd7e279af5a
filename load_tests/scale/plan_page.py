"""The section of docs/scaling.md that follows from the measurements."""

from dataclasses import replace

from load_tests.harness.report import table
from load_tests.harness.traffic import FEATURES as EXAMPLE_FEATURES
from load_tests.scale.assumptions import DAY_SECONDS, GIB, Choices, Demand
from load_tests.scale.costs import FEATURES, Costs, costs_of
from load_tests.scale.limits import ceilings, limits
from load_tests.scale.plan import Plan, plan
from load_tests.scale.popularity import Popularity
from load_tests.scale.prices import Bill, Prices, bill
from load_tests.scale.results import Results
from load_tests.scale.shards import by_ranges, shards_for

CHOSEN = Choices()
VARIANTS = {
    "as planned: predictions are kept for an hour, 100 events of each log": CHOSEN,
    "nothing is kept, feedback brings its features": replace(CHOSEN, keeping=False),
    "the defaults: predictions for a day, 100,000 events": replace(
        CHOSEN, kept_seconds=DAY_SECONDS, retained_events=100_000
    ),
}
HELD = (1.0, 0.3, 0.1, 0.01)


def plan_section(results: Results, demand: Demand | None = None) -> str:
    """Everything between the marks."""
    demand, costs = demand or Demand(), costs_of(results)
    popularity = Popularity.of(demand.tenants)
    made = plan(costs, demand, CHOSEN, popularity)
    parts = [
        "### What is assumed\n" + _assumed(demand, popularity),
        "### What was measured\n" + _measured(costs),
        "### What is needed\n" + _needed(made, costs),
        "### How full it is at the peak\n" + _limits(made),
        "### Where more machines do not help\n" + _ceilings(made, costs),
        "### What is kept decides\n" + _variants(costs, demand, popularity),
        "### All tenants in memory, or only some\n" + _held(costs, demand, popularity),
        "### What it costs\n" + _prices(made),
    ]
    return "\n\n".join(parts)


def _assumed(demand: Demand, popularity: Popularity) -> str:
    choices, mean = CHOSEN, demand.predictions / demand.peak
    rows = [
        ("predictions a day", f"{demand.predictions_per_day:,.0f}: {mean:,.0f} a second in the mean"),
        ("at the peak", f"{demand.peak:g} times the mean: {demand.predictions:,.0f} a second"),
        ("labels", f"{demand.labelled:.0%} of the predictions: {demand.labels:,.0f} a second at the peak"),
        ("tenants", f"{demand.tenants:,}, by Zipf's law: the hottest has {popularity.hottest:.1%} of all requests"),
        ("features", f"{EXAMPLE_FEATURES} in an example, {FEATURES:,} in a tenant's model"),
        ("headroom", f"what machines can be added for is used up to {choices.used:.0%} at the peak"),
        ("the fullest worker", f"has {choices.balance:g} times the mean at most: the balancer sees to it"),
        (
            "predictions are kept",
            f"for {choices.kept_seconds / 3600:g} h, {choices.kept_of_each:,} of a tenant at most",
        ),
        ("logs", f"of {choices.log_days:g} days, but no more than {choices.retained_events:,} events of a tenant"),
        ("snapshots", f"every {choices.snapshot_seconds:g} s of every tenant that was labelled meanwhile"),
        (
            "a shard",
            f"has {choices.shard_bytes / GIB:g} GiB of memory, a disk as fast as the one measured, and a replica",
        ),
    ]
    return table(("what", "how much"), rows)


def _measured(costs: Costs) -> str:
    micro, kib = 1e6, 1024.0
    rows = [
        (
            "/predict, its input kept",
            f"{micro * costs.predict_seconds:.0f} us",
            f"{micro * costs.store_predict_seconds:.0f} us",
        ),
        ("/predict, not kept", f"{micro * costs.not_kept_seconds:.0f} us", ""),
        ("/feedback", f"{micro * costs.label_seconds:.0f} us", f"{micro * costs.store_label_seconds:.0f} us"),
        ("loading a tenant", f"{micro * costs.load_seconds:.0f} us", f"{micro * costs.store_load_seconds:.0f} us"),
        ("a snapshot of it", f"{micro * costs.snapshot_seconds:.0f} us", ""),
        (
            "following, all the time",
            f"{costs.following_cores:.3f} cores",
            f"{costs.store_following_cores:.3f} cores for each worker",
        ),
        ("following, for each label of anybody", f"{micro * costs.heard_seconds:.0f} us", ""),
        ("memory without tenants", f"{costs.worker_bytes / kib / kib:.0f} MiB", ""),
        ("memory of a tenant", f"{costs.tenant_bytes / kib:.0f} KiB", f"{costs.store_tenant_bytes / kib:.0f} KiB"),
        ("memory of an event in the log", "", f"{costs.store_event_bytes:,.0f} bytes"),
        ("memory of a kept prediction", "", f"{costs.store_kept_bytes:,.0f} bytes"),
        ("writing a label durably", "", f"{micro * costs.label_writing_seconds:.0f} us"),
        ("writing a block of kept predictions", "", f"{micro * costs.block_writing_seconds:.0f} us"),
        ("... and for each prediction in it", "", f"{micro * costs.kept_writing_seconds:.1f} us"),
        ("on the wire: request and answer", f"{costs.request_bytes:,.0f} + {costs.answer_bytes:,.0f} bytes", ""),
    ]
    return table(("what", "a worker", "a store"), rows)


def _needed(made: Plan, costs: Costs) -> str:
    alone = (made.choices.used - made.following) / costs.predict_seconds / made.demand.peak * DAY_SECONDS
    growth = made.demand.labels_per_day * costs.store_event_bytes / GIB
    rows = [
        ("workers, each a service of its own with one core", f"{made.workers:,}"),
        ("predictions of one of them in a day", f"{alone:,.0f}, if it had nothing else to do"),
        ("cores that are busy in them", _told(made.worker_cores, 1.0, ".1f")),
        ("memory of each", f"{made.worker_bytes / GIB:.1f} GiB"),
        ("shards, if tags are dealt out one by one", _shards(made.shards)),
        ("shards, if slots are dealt out in ranges", _shards(shards_for(made.needs.values(), by_ranges))),
        (
            "stores that would do if all were even, for",
            ", ".join(f"{what} {need.stores:.1f}" for what, need in made.needs.items()),
        ),
        ("memory of all primaries", _told(made.store_bytes, GIB, ",.0f", " GiB")),
        ("logs grow in a day", f"by {growth:,.0f} GiB, until every tenant has the events that are retained"),
        ("cores that are busy in them", _told(made.store_cores, 1.0, ".2f")),
        ("written to their disks in a day", _told(made.disk_bytes_per_day, GIB, ",.0f", " GiB")),
        ("between clients and workers", f"{8 * made.wire_bytes / 1e9:.2f} Gbit a second"),
    ]
    return table(("what", "how much"), rows)


def _shards(shards: int | None) -> str:
    return "no number is enough" if shards is None else f"{shards}, and as many replicas"


def _told(parts: dict[str, float], unit: float, form: str, name: str = "") -> str:
    each = ", ".join(f"{kind} {value / unit:{form}}" for kind, value in parts.items())
    return f"{sum(parts.values()) / unit:{form}}{name} ({each})"


def _limits(made: Plan) -> str:
    return table(("what", "used at the peak"), ((limit.name, f"{limit.used:.0%}") for limit in limits(made)))


def _ceilings(made: Plan, costs: Costs) -> str:
    rows = ((name, f"{times:,.1f} times") for name, times in ceilings(made, costs).items())
    return table(("what happens", "at this many times the requests"), rows)


def _variants(costs: Costs, demand: Demand, popularity: Popularity) -> str:
    header = ("what is kept", "workers", "shards", "memory of all primaries, GiB", "written in a day, GiB", "a month")
    return table(header, (_variant(name, plan(costs, demand, some, popularity)) for name, some in VARIANTS.items()))


def _variant(name: str, made: Plan) -> tuple[object, ...]:
    stored, written = sum(made.store_bytes.values()) / GIB, sum(made.disk_bytes_per_day.values()) / GIB
    shards = "none are enough" if made.shards is None else made.shards
    return (name, made.workers, shards, f"{stored:,.0f}", f"{written:,.0f}", _dollars(bill(made, Prices())))


def _held(costs: Costs, demand: Demand, popularity: Popularity) -> str:
    header = (
        "held",
        "loads per second",
        "share of requests that wait for one",
        "workers",
        "memory of each, GiB",
        "a month",
    )
    return table(header, (_some(plan(costs, demand, replace(CHOSEN, held=share), popularity)) for share in HELD))


def _some(made: Plan) -> tuple[object, ...]:
    waiting = made.loads / made.demand.predictions
    memory, cost = f"{made.worker_bytes / GIB:.1f}", _dollars(bill(made, Prices()))
    return (f"{made.choices.held:.0%}", f"{made.loads:,.0f}", f"{waiting:.1%}", made.workers, memory, cost)


def _prices(made: Plan) -> str:
    prices, asked = Prices(), bill(made, Prices())
    if asked is None:
        return "No number of shards is enough."
    rows = [
        ("cores of workers", f"{asked.worker_cores:,.0f}", f"{prices.core_hour:g} an hour"),
        ("GiB of memory of workers", f"{asked.worker_gib:,.0f}", f"{prices.gib_hour:g} an hour"),
        (f"cores of stores, {prices.store_cores} each", f"{asked.store_cores:,.0f}", f"{prices.core_hour:g} an hour"),
        ("GiB of memory of stores", f"{asked.store_gib:,.0f}", f"{prices.gib_hour:g} an hour"),
        ("GiB of their disks", f"{asked.disk_gib:,.0f}", f"{prices.disk_gib_month:g} a month"),
    ]
    per_million = asked.dollars / (made.demand.predictions_per_day * 30.4 / 1e6)
    return (
        "The prices are assumed, in dollars, of the order of what clouds ask; traffic and people are not in it.\n\n"
        + table(("what", "how many", "assumed price of each"), rows)
        + f"\n\nTogether {_dollars(asked)} a month: {100 * per_million:.1f} cents for a million predictions."
    )


def _dollars(asked: Bill | None) -> str:
    return "" if asked is None else f"${asked.dollars:,.0f}"
