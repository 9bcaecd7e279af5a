"""The scenarios by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from load_tests.scenarios import traffic
from load_tests.scenarios.plans import Ask

USERS = 32
BATCH_USERS = 8
KEPT = 100_000  # predictions of a tenant, so that none is gone when its label comes


@dataclass(frozen=True, slots=True)
class Scenario:
    """Traffic, and the service that it is for."""

    text: str
    asks: Callable[[float], list[Ask]]  # of the seconds of a run
    users: int = USERS
    settings: Mapping[str, object] = field(default_factory=dict)
    has_peak: bool = False  # whether wrk plays it, too
    is_confined: bool = False  # and once more with a part of a core for each worker


SCENARIOS = {
    "scoring": Scenario("predictions, evenly for 20 tenants", traffic.scoring, has_peak=True),
    "feedback": Scenario(
        "a label by prediction id for one prediction in four, after delays as moderators have them",
        traffic.feedback,
        settings={"pending_max_per_tenant": KEPT},
    ),
    "batch": Scenario("batches of 100 predictions", traffic.batch, users=BATCH_USERS),
    "ndjson": Scenario("the same batches as NDJSON", traffic.ndjson, users=BATCH_USERS),
    "mixed": Scenario(
        "a mixed day: 99% predictions, 1% feedback, 200 tenants with Zipf popularity",
        traffic.mixed,
        has_peak=True,
        is_confined=True,
    ),
    "cold": Scenario(
        "2,000 tenants in turn, more than fit into memory", traffic.cold, settings={"memory_budget_bytes": "16MiB"}
    ),
    "hot": Scenario("one tenant with 90% of the requests, 199 neighbours with the others", traffic.hot),
    "mixed2": Scenario(
        "the mixed day on two workers", traffic.mixed, settings={"workers": 2}, has_peak=True, is_confined=True
    ),
}
