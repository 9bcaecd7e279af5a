"""What is used up first: at the peak that was planned for, and where more machines would not help."""

from dataclasses import dataclass

from load_tests.scale.costs import Costs
from load_tests.scale.plan import MEMORY, Plan
from load_tests.scale.shards import MOST

MOST_TENANTS = 10_000_000  # that SLUICE_MAX_TENANTS can be set to


@dataclass(frozen=True, slots=True)
class Limit:
    """How much of something is used at the peak."""

    name: str
    used: float


def limits(made: Plan) -> list[Limit]:
    """What is used how far at the peak, the tightest first. Where no number of shards is enough, there are 256."""
    choices, follows, shards = made.choices, made.following, made.shards or MOST
    asked = sum(made.worker_cores.values()) / made.workers - follows
    found = [
        Limit("the processor of the fullest worker", follows + choices.balance * asked),
        *(
            Limit(f"the fullest shard's {what}", choices.used * need.fullest(shards))
            for what, need in made.needs.items()
        ),
        Limit(f"shards, of the {MOST} that there can be", shards / MOST),
        Limit(f"tenants, of the {MOST_TENANTS:,} that may be allowed", made.demand.tenants / MOST_TENANTS),
        Limit("a worker, by the hottest tenant alone", made.hottest_cores),
        Limit("every worker, by following all labels", follows),
    ]
    return sorted(found, key=lambda limit: -limit.used)


def ceilings(made: Plan, costs: Costs) -> dict[str, float]:
    """By how many times requests could grow until more machines do not help any more, the lowest first."""
    rates = [need.fullest(MOST) for what, need in made.needs.items() if what != MEMORY]
    found = {
        f"the fullest of {MOST} shards has no core or disk left": 1.0 / max(rates),
        "the writes of the hottest tenant fill its shard": made.choices.used / made.hottest_writing,
        "hearing of all labels fills every worker": (made.choices.used - costs.following_cores)
        / (made.demand.labels * costs.heard_seconds),
    }
    return dict(sorted(found.items(), key=lambda each: each[1]))
