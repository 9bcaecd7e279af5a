"""The scenarios and their requests, made before anything is measured. Seeds are fixed: each run sends the same."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle, islice

import numpy as np

from load_tests.harness import traffic
from load_tests.harness.sizes import BATCH, BATCH_CONNECTIONS, CONNECTIONS, EXAMPLES, SEED
from load_tests.harness.traffic import NDJSON, zipf
from load_tests.scenarios.plans import FEEDBACK, FEEDBACK_ROUTE, Ask

REQUESTS = 10_000  # different ones; then they come again
EVEN_TENANTS = 20
BATCH_TENANTS = 5
COLD_TENANTS = 2000
LABELLED = 0.25  # of the predictions in the feedback scenario
MIXED_TENANTS = 200
MIXED_FEEDBACK = 0.01
HOT_SHARE = 0.9
KEPT = 100_000  # predictions of a tenant: none expires before its label comes

SHIFT_MINUTES = 480.0  # of a moderator; a run stands for one
MEDIAN_MINUTES = 10.0  # until a label
SPREAD = 1.5  # of the logarithm: one label in ten takes more than an hour, one in a hundred more than five

PREDICT, NEIGHBOURS = "predict", "neighbours"
HOT = "hot"


def scoring(_run_seconds: float) -> list[Ask]:
    return [_predict(tenant, features) for tenant, features in _evenly(EVEN_TENANTS)]


def feedback(run_seconds: float) -> list[Ask]:
    """Predictions of which moderators label some, by prediction id, later; a moderator's shift fits into the run."""
    rng = np.random.default_rng(SEED)
    labels = np.where(rng.random(REQUESTS) < LABELLED, rng.choice([1, -1], REQUESTS), 0).tolist()
    minutes = rng.lognormal(math.log(MEDIAN_MINUTES), SPREAD, REQUESTS)  # as the times that people take
    later = (minutes * run_seconds / SHIFT_MINUTES).tolist()
    asked = zip(_evenly(EVEN_TENANTS), labels, later, strict=True)
    return [_predict(tenant, features, label, seconds) for (tenant, features), label, seconds in asked]


def batch(_run_seconds: float) -> list[Ask]:
    body = b'{"tenant":"%b","items":[%b]}'
    return [
        Ask("batch", "/predict/batch", tenant, body % (tenant.encode(), b",".join(items)), BATCH)
        for tenant, items in _in_batches()
    ]


def ndjson(_run_seconds: float) -> list[Ask]:
    return [
        Ask("ndjson", f"/predict/batch?tenant={tenant}", tenant, b"\n".join(items) + b"\n", BATCH, NDJSON)
        for tenant, items in _in_batches()
    ]


def mixed(_run_seconds: float) -> list[Ask]:
    """A day: 1 request in 100 is feedback, with its features, since wrk sends fixed bytes; popularity is Zipf's."""
    rng = np.random.default_rng(SEED)
    numbers = rng.choice(MIXED_TENANTS, REQUESTS, p=zipf(MIXED_TENANTS)).tolist()
    tenants = [f"zipf-{number:03d}" for number in numbers]
    return _some_labelled(rng, tenants, dict.fromkeys(tenants, PREDICT))


def cold(_run_seconds: float) -> list[Ask]:
    """Tenants in turn, more than fit into memory: each has left it when its turn comes again."""
    return [_predict(tenant, features) for tenant, features in _evenly(COLD_TENANTS, "cold")]


def hot(_run_seconds: float) -> list[Ask]:
    """One tenant with nine requests in ten; its neighbours have the others. One in 100 is feedback."""
    rng = np.random.default_rng(SEED)
    is_hot = (rng.random(REQUESTS) < HOT_SHARE).tolist()
    others = [f"near-{number:03d}" for number in rng.integers(MIXED_TENANTS - 1, size=REQUESTS).tolist()]
    tenants = [HOT if hot else other for hot, other in zip(is_hot, others, strict=True)]
    return _some_labelled(rng, tenants, dict.fromkeys(tenants, NEIGHBOURS) | {HOT: PREDICT})


def teaching(asks: Sequence[Ask], events: int) -> list[Ask]:
    """About so many labels, evenly, and at least one for each tenant."""
    tenants = list(dict.fromkeys(ask.tenant for ask in asks))
    turns = islice(cycle(tenants), max(events // len(tenants), 1) * len(tenants))
    labels = np.random.default_rng(SEED).choice([1, -1], EXAMPLES).tolist()
    taught = zip(turns, cycle(_examples()), cycle(labels))  # as long as the first
    return [_feedback(tenant, features, label) for tenant, features, label in taught]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Traffic, and the service for it."""

    text: str
    asks: Callable[[float], list[Ask]]  # by the seconds of a run
    users: int = CONNECTIONS
    settings: Mapping[str, object] = field(default_factory=dict)
    has_peak: bool = False  # whether wrk sends it, too
    is_confined: bool = False  # and once more with a part of a core for each worker


SCENARIOS = {
    "scoring": Scenario("predictions, evenly for 20 tenants", scoring, has_peak=True),
    "feedback": Scenario(
        "a label by prediction id for one prediction in four, after delays as moderators have them",
        feedback,
        settings={"pending_max_per_tenant": KEPT},
    ),
    "batch": Scenario("batches of 100 predictions", batch, users=BATCH_CONNECTIONS),
    "ndjson": Scenario("the same batches as NDJSON", ndjson, users=BATCH_CONNECTIONS),
    "mixed": Scenario(
        "a mixed day: 99% predictions, 1% feedback, 200 tenants with Zipf popularity",
        mixed,
        has_peak=True,
        is_confined=True,
    ),
    "cold": Scenario(
        "2,000 tenants in turn, more than fit into memory", cold, settings={"memory_budget_bytes": "16MiB"}
    ),
    "hot": Scenario("one tenant with 90% of the requests, 199 neighbours with the others", hot),
    "mixed2": Scenario("the mixed day on two workers", mixed, settings={"workers": 2}, has_peak=True, is_confined=True),
}


def _some_labelled(rng: np.random.Generator, tenants: list[str], names: dict[str, str]) -> list[Ask]:
    """Exactly one in 100 is feedback."""
    labelled = set(rng.choice(len(tenants), round(len(tenants) * MIXED_FEEDBACK), replace=False).tolist())
    labels = rng.choice([1, -1], len(tenants)).tolist()
    return [
        _feedback(tenant, features, label) if k in labelled else _predict(tenant, features, name=names[tenant])
        for k, (tenant, features, label) in enumerate(zip(tenants, cycle(_examples()), labels))
    ]


def _predict(tenant: str, features: bytes, label: int = 0, delay_seconds: float = 0.0, name: str = PREDICT) -> Ask:
    body = b'{"tenant":"%b","features":%b}' % (tenant.encode(), features)
    return Ask(name, "/predict", tenant, body, label=label, delay_seconds=delay_seconds)


def _feedback(tenant: str, features: bytes, label: int) -> Ask:
    body = b'{"tenant":"%b","label":%d,"features":%b}' % (tenant.encode(), label, features)
    return Ask(FEEDBACK, FEEDBACK_ROUTE, tenant, body)


@cache
def _examples() -> tuple[bytes, ...]:
    return tuple(traffic.examples(EXAMPLES))


def _evenly(tenants: int, prefix: str = "even") -> list[tuple[str, bytes]]:
    examples = _examples()
    return [(f"{prefix}-{k % tenants:04d}", examples[k % EXAMPLES]) for k in range(REQUESTS)]


def _in_batches() -> list[tuple[str, Sequence[bytes]]]:
    items = [b'{"features":%b}' % features for features in _examples()]
    return [(f"even-{number:04d}", part) for part in traffic.parts(items, BATCH) for number in range(BATCH_TENANTS)]
