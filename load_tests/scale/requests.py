"""Requests and models, made before anything is measured."""

import math
from collections.abc import Sequence

import numpy as np

from app.learning.events import FeedbackGiven
from app.learning.example import example_of
from app.learning.snapshot.model_file import dump
from app.learning.state import TenantState, apply
from load_tests.harness import traffic
from load_tests.harness.client import call as ask_well
from load_tests.harness.processes import Service
from load_tests.scenarios.plans import FEEDBACK, FEEDBACK_ROUTE, Ask

SEED = 20_250_101
FEATURES_PER_EVENT = 1000
NOT_KEPT = b',"keep":false'
NEVER = {"snapshot_every_events": 1_000_000_000, "snapshot_every_seconds": 31_536_000}


def predict(tenant: str, features: bytes, more: bytes = b"") -> bytes:
    """POST /predict; `more` are further fields."""
    return Ask(
        "predict", "/predict", tenant, b'{"tenant":"%b","features":%b%b}' % (tenant.encode(), features, more)
    ).http


def predicts(tenant: str, examples: Sequence[bytes], more: bytes = b"") -> list[bytes]:
    """One for each example."""
    return [predict(tenant, features, more) for features in examples]


def feedbacks(tenant: str, examples: Sequence[bytes]) -> list[bytes]:
    """Every example with either label, far apart: nearly always there is a loss, which is the dearest case."""
    labels = np.random.default_rng(SEED).choice([1, -1], len(examples)).tolist()
    pairs = [(features, sign * label) for sign in (1, -1) for features, label in zip(examples, labels, strict=True)]
    return [feedback(tenant, features, label) for features, label in pairs]


def feedback(tenant: str, features: bytes, label: int) -> bytes:
    """POST /feedback."""
    body = b'{"tenant":"%b","label":%d,"features":%b}' % (tenant.encode(), label, features)
    return Ask(FEEDBACK, FEEDBACK_ROUTE, tenant, body).http


def long_examples(count: int, features: int, vocabulary: int) -> list[bytes]:
    """Features as JSON objects, so many in each, all different; the k-th of the vocabulary comes as often as 1/k."""
    rng = np.random.default_rng([SEED, features])
    return [_example(rng, features, vocabulary) for _ in range(count)]


def _example(rng: np.random.Generator, features: int, vocabulary: int) -> bytes:
    found: dict[int, None] = {}
    while len(found) < features:  # Zipf with exponent 1 is uniform in the logarithm of the rank
        drawn = np.exp(rng.random(features) * math.log(vocabulary + 1.0)).astype(np.int64) - 1
        found |= dict.fromkeys(drawn[drawn < vocabulary].tolist())
    values = rng.choice(["1", "1", "2", "3", "0.5", "0.25", "1.75", "0.125"], features).tolist()
    pairs = (f'"{traffic.name_of(rank)}":{value}' for rank, value in zip(found, values, strict=False))
    return ("{" + ",".join(pairs) + "}").encode()


def body(request: bytes) -> bytes:
    """Of a whole request."""
    return request.partition(b"\r\n\r\n")[2]


def model_of(features: int) -> bytes:
    """A model that has learnt so many features, each once."""
    state = TenantState({"max_features": max(features, 1 << 22)})
    for k, start in enumerate(range(0, features, FEATURES_PER_EVENT)):
        names = map(traffic.name_of, range(start, min(start + FEATURES_PER_EVENT, features)))
        apply(state, FeedbackGiven(example_of(dict.fromkeys(names, 1.0)), label=(1, -1)[k % 2]))
    return b"".join(dump(state))


def import_model(service: Service, tenant: str, features: int) -> None:
    """Let a tenant begin with such a model."""
    ask_well(service.port, "POST", f"/tenants/{tenant}/import", model_of(features), "application/octet-stream")
