"""Requests as bytes, made before anything is measured: 100 features each, drawn by Zipf's law."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from app.learning.events import FeedbackGiven
from app.learning.example import example_of
from app.learning.snapshot.model_file import dump
from app.learning.state import TenantState, apply
from kernels.arrays import Floats
from load_tests.harness.jobs import UNIQUE_BYTES, Request
from load_tests.harness.sizes import SEED

FEATURES = 100  # of every example, all different
VOCABULARY = 50_000
SPACES = ("token", "host", "path", "header", "sender")
SIMPLE_VALUES = ("1", "1", "2", "3", "0.5", "0.25", "1.75", "0.125")
FEATURES_PER_EVENT = 1000
JSON, NDJSON = "application/json", "application/x-ndjson"
NOT_KEPT = b',"keep":false'

Item = TypeVar("Item")
Values = Callable[[np.random.Generator, int], list[str]]


def post(path: str, body: bytes, content_type: str = JSON, more_bytes: int = 0) -> bytes:
    """A whole POST; `more_bytes` are added to its body later."""
    length = len(body) + more_bytes
    head = f"POST {path} HTTP/1.1\r\nhost: sluice\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n"
    return head.encode() + body


def name_of(number: int) -> str:
    """The name of a feature, such as `token:w12345`."""
    return f"{SPACES[number % len(SPACES)]}:w{number}"


def short_values(rng: np.random.Generator, count: int) -> list[str]:
    return [str(value) for value in rng.choice(SIMPLE_VALUES, count)]


def long_values(rng: np.random.Generator, count: int) -> list[str]:
    """Values with all the digits of a double."""
    return [f"{value:.16f}" for value in 1.0 + 8.0 * rng.random(count)]


def examples(
    count: int,
    vocabulary: int = VOCABULARY,
    values: Values = short_values,
    features: int = FEATURES,
    seed: int | Sequence[int] = SEED,
) -> list[bytes]:
    """Features as JSON objects, all different in each; the k-th of the vocabulary comes as often as 1/k."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(count):
        found: dict[int, None] = {}
        while len(found) < features:  # Zipf with exponent 1 is uniform in the logarithm of the rank
            drawn = np.exp(rng.random(features) * math.log(vocabulary + 1.0)).astype(np.int64) - 1
            found |= dict.fromkeys(drawn[drawn < vocabulary].tolist())
        pairs = (f'"{name_of(rank)}":{value}' for rank, value in zip(found, values(rng, features), strict=False))
        made.append(("{" + ",".join(pairs) + "}").encode())
    return made


def zipf(how_many: int) -> Floats:
    """Popularity by rank: the k-th has a share of 1/k, relative to the first."""
    shares = 1.0 / np.arange(1.0, how_many + 1.0)
    popularity: Floats = shares / shares.sum()
    return popularity


def predict(features: bytes, tenant: str, more: bytes = b"") -> bytes:
    """POST /predict; `more` are further fields."""
    return post("/predict", b'{"tenant":"%b","features":%b%b}' % (tenant.encode(), features, more))


def feedback(features: bytes, tenant: str, label: int) -> bytes:
    return post("/feedback", b'{"tenant":"%b","label":%d,"features":%b}' % (tenant.encode(), label, features))


def predicts(some: Sequence[bytes], tenant: str, more: bytes = b"") -> list[Request]:
    return [Request(predict(features, tenant, more)) for features in some]


def feedbacks(some: Sequence[bytes], tenant: str) -> list[Request]:
    """POST /feedback for each with both labels, every second one with a unique feedback_id."""
    made, tail = [], b'"}'
    for number, (features, label) in enumerate(labelled(some)):
        body = b'{"tenant":"%b","label":%d,"features":%b,"feedback_id":"' % (tenant.encode(), label, features)
        named = Request(post("/feedback", body, more_bytes=UNIQUE_BYTES + len(tail)), tail)
        made.append(Request(feedback(features, tenant, label)) if number % 2 else named)
    return made


def labelled(some: Sequence[bytes]) -> list[tuple[bytes, int]]:
    """Each example with both labels, far apart: there is nearly always a loss, which is the most expensive case."""
    labels = np.random.default_rng(SEED).choice([1, -1], len(some)).tolist()
    return [(features, sign * label) for sign in (1, -1) for features, label in zip(some, labels, strict=True)]


def predict_batches(some: Sequence[bytes], tenant: str, size: int, more: bytes = b"") -> list[Request]:
    return _batches("/predict/batch", [b'{"features":%b%b}' % (features, more) for features in some], tenant, size)


def feedback_batches(some: Sequence[bytes], tenant: str, size: int) -> list[Request]:
    items = [b'{"label":%d,"features":%b}' % (label, features) for features, label in labelled(some)]
    return _batches("/feedback/batch", items, tenant, size)


def _batches(path: str, items: Sequence[bytes], tenant: str, size: int) -> list[Request]:
    bodies = (b'{"tenant":"%b","items":[%b]}' % (tenant.encode(), b",".join(part)) for part in parts(items, size))
    return [Request(post(path, body)) for body in bodies]


def predict_streams(some: Sequence[bytes], tenant: str, size: int) -> list[Request]:
    """POST /predict/batch as NDJSON with `size` lines in each; answers come while lines are sent."""
    lines = [b'{"features":%b}\n' % features for features in some]
    return [Request(post(f"/predict/batch?tenant={tenant}", b"".join(part), NDJSON)) for part in parts(lines, size)]


def parts(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Cut into parts of `size`; the last may be shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def model_file(names: range, max_features: int | None = None) -> bytes:
    """A model that has learnt each of these features once, and knows its name."""
    state = TenantState({"max_features": max_features} if max_features else None)
    for k, start in enumerate(names[::FEATURES_PER_EVENT]):
        some = map(name_of, range(start, min(start + FEATURES_PER_EVENT, names.stop)))
        apply(state, FeedbackGiven(example_of(dict.fromkeys(some, 1.0)), label=(1, -1)[k % 2]))
    return b"".join(dump(state))
