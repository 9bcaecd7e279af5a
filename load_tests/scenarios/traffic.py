"""The requests of every scenario, made before anything is measured. Seeds are fixed: each run asks the same."""

from collections.abc import Sequence
from functools import cache
from itertools import cycle, islice

import numpy as np

from kernels.arrays import Floats
from load_tests.harness import traffic
from load_tests.scenarios.moderators import delays
from load_tests.scenarios.plans import FEEDBACK, FEEDBACK_ROUTE, NDJSON, Ask

SEED = 20_250_101
EXAMPLES = 2000
REQUESTS = 10_000  # that differ; then they come again
BATCH = 100
EVEN_TENANTS = 20
BATCH_TENANTS = 5
COLD_TENANTS = 2000
LABELLED = 0.25  # of the predictions in the feedback scenario
MIXED_TENANTS = 200
MIXED_FEEDBACK = 0.01
HOT_SHARE = 0.9

PREDICT, NEIGHBOURS = "predict", "neighbours"
HOT = "hot"


def scoring(_run_seconds: float) -> list[Ask]:
    """Predictions, evenly for some tenants."""
    return [_predict(tenant, features) for tenant, features in _evenly(EVEN_TENANTS, REQUESTS)]


def feedback(run_seconds: float) -> list[Ask]:
    """Predictions of which moderators label some, by prediction id, later."""
    rng = np.random.default_rng(SEED)
    labels = np.where(rng.random(REQUESTS) < LABELLED, rng.choice([1, -1], REQUESTS), 0).tolist()
    times = delays(rng, REQUESTS, run_seconds)
    asked = zip(_evenly(EVEN_TENANTS, REQUESTS), labels, times, strict=True)
    return [_predict(tenant, features, label, seconds) for (tenant, features), label, seconds in asked]


def batch(_run_seconds: float) -> list[Ask]:
    """Batches of predictions."""
    items = [b'{"features":%b}' % features for features in _examples()]
    parts = [(tenant, b",".join(some)) for tenant, some in _in_batches(items)]
    return [
        Ask("batch", "/predict/batch", tenant, b'{"tenant":"%b","items":[%b]}' % (tenant.encode(), part), BATCH)
        for tenant, part in parts
    ]


def ndjson(_run_seconds: float) -> list[Ask]:
    """The same batches, a line for each prediction."""
    lines = [b'{"features":%b}\n' % features for features in _examples()]
    return [
        Ask("ndjson", f"/predict/batch?tenant={tenant}", tenant, b"".join(items), BATCH, NDJSON)
        for tenant, items in _in_batches(lines)
    ]


def mixed(_run_seconds: float) -> list[Ask]:
    """A day: of 100 requests one is feedback, and tenants are as popular as Zipf's law says.

    Feedback carries its features, so that a client that sends fixed bytes can play the same day.
    """
    rng = np.random.default_rng(SEED)
    popularity = zipf(MIXED_TENANTS)
    tenants = [f"zipf-{number:03d}" for number in rng.choice(MIXED_TENANTS, REQUESTS, p=popularity).tolist()]
    return _some_labelled(rng, tenants, dict.fromkeys(tenants, PREDICT))


def cold(_run_seconds: float) -> list[Ask]:
    """Tenants in turn, more than fit into memory: each has left it when its turn comes again."""
    return [_predict(tenant, features) for tenant, features in _evenly(COLD_TENANTS, REQUESTS, "cold")]


def hot(_run_seconds: float) -> list[Ask]:
    """One tenant with nine requests in ten; its neighbours have the others. One in 100 is feedback."""
    rng = np.random.default_rng(SEED)
    is_hot = (rng.random(REQUESTS) < HOT_SHARE).tolist()
    others = [f"near-{number:03d}" for number in rng.integers(MIXED_TENANTS - 1, size=REQUESTS).tolist()]
    tenants = [HOT if hot else other for hot, other in zip(is_hot, others, strict=True)]
    return _some_labelled(rng, tenants, dict.fromkeys(tenants, NEIGHBOURS) | {HOT: PREDICT})


def teaching(asks: Sequence[Ask], events: int) -> list[Ask]:
    """About so many labels, at least one for each tenant that will be asked, evenly."""
    tenants = list(dict.fromkeys(ask.tenant for ask in asks))
    turns = islice(cycle(tenants), max(events // len(tenants), 1) * len(tenants))
    labels = np.random.default_rng(SEED).choice([1, -1], EXAMPLES).tolist()
    taught = zip(turns, cycle(_examples()), cycle(labels))  # as long as the first
    return [_feedback(tenant, features, label) for tenant, features, label in taught]


def zipf(how_many: int) -> Floats:
    """Popularity by rank: the k-th has a share of 1/k, relative to the first."""
    shares = 1.0 / np.arange(1.0, how_many + 1.0)
    popularity: Floats = shares / shares.sum()
    return popularity


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


def _evenly(tenants: int, requests: int, prefix: str = "even") -> list[tuple[str, bytes]]:
    examples = _examples()
    return [(f"{prefix}-{k % tenants:04d}", examples[k % EXAMPLES]) for k in range(requests)]


def _in_batches(items: Sequence[bytes]) -> list[tuple[str, Sequence[bytes]]]:
    parts = [items[start : start + BATCH] for start in range(0, len(items), BATCH)]
    return [(f"even-{number:04d}", part) for part in parts for number in range(BATCH_TENANTS)]
