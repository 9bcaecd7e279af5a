"""Requests as bytes, made before anything is measured: 100 features each, drawn by Zipf's law."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from load_tests.service.jobs import UNIQUE_BYTES, Request

SEED = 20_250_101
FEATURES = 100  # of every example, all different
VOCABULARY = 50_000
SPACES = ("token", "host", "path", "header", "sender")
JSON, NDJSON = b"application/json", b"application/x-ndjson"

Values = Callable[[np.random.Generator], list[str]]


def name_of(number: int) -> str:
    """The name of a feature, such as `token:w12345`."""
    return f"{SPACES[number % len(SPACES)]}:w{number}"


def short_values(rng: np.random.Generator) -> list[str]:
    """Counts and simple fractions."""
    drawn: list[str] = rng.choice(["1", "1", "2", "3", "0.5", "0.25", "1.75", "0.125"], FEATURES).tolist()
    return drawn


def long_values(rng: np.random.Generator) -> list[str]:
    """With all the digits that a double can have."""
    return [f"{value:.16f}" for value in 1.0 + 8.0 * rng.random(FEATURES)]


def examples(count: int, vocabulary: int = VOCABULARY, values: Values = short_values, seed: int = SEED) -> list[bytes]:
    """Features as JSON objects."""
    rng = np.random.default_rng(seed)
    return [_example(_ranks(rng, vocabulary), values(rng)) for _ in range(count)]


def predicts(some: Sequence[bytes], tenant: str, more: bytes = b"") -> list[Request]:
    """POST /predict for each; `more` are further fields."""
    bodies = [b'{"tenant":"%b","features":%b%b}' % (tenant.encode(), features, more) for features in some]
    return [Request(_post(b"/predict", body)) for body in bodies]


def feedbacks(some: Sequence[bytes], tenant: str) -> list[Request]:
    """POST /feedback for each with either label, every second one with a feedback_id of its own."""
    return [_feedback(features, label, tenant.encode(), k) for k, (features, label) in enumerate(_labelled(some))]


def _feedback(features: bytes, label: int, tenant: bytes, number: int) -> Request:
    body = b'{"tenant":"%b","label":%d,"features":%b' % (tenant, label, features)
    if number % 2:
        return Request(_post(b"/feedback", body + b"}"))
    body += b',"feedback_id":"'
    tail = b'"}'
    return Request(_head(b"/feedback", JSON, len(body) + UNIQUE_BYTES + len(tail)) + body, tail)


def predict_batches(some: Sequence[bytes], tenant: str, size: int, more: bytes = b"") -> list[Request]:
    """POST /predict/batch, so many items in each; `more` are further fields of an item."""
    items = [b'{"features":%b%b}' % (features, more) for features in some]
    return _batches(b"/predict/batch", items, tenant, size)


def feedback_batches(some: Sequence[bytes], tenant: str, size: int) -> list[Request]:
    """POST /feedback/batch with either label, so many items in each."""
    items = [b'{"label":%d,"features":%b}' % (label, features) for features, label in _labelled(some)]
    return _batches(b"/feedback/batch", items, tenant, size)


def _batches(path: bytes, items: Sequence[bytes], tenant: str, size: int) -> list[Request]:
    parts = [items[start : start + size] for start in range(0, len(items), size)]
    return [
        Request(_post(path, b'{"tenant":"%b","items":[%b]}' % (tenant.encode(), b",".join(part)))) for part in parts
    ]


def predict_stream(some: Sequence[bytes], tenant: str, size: int) -> tuple[bytes, list[bytes]]:
    """The head of an NDJSON request that lasts, and blocks of so many lines as chunks for its body."""
    lines = [b'{"features":%b}\n' % features for features in some]
    blocks = [b"".join(lines[start : start + size]) for start in range(0, len(lines), size)]
    head = b"POST /predict/batch?tenant=%b HTTP/1.1\r\nhost: sluice\r\ncontent-type: %b\r\n" % (tenant.encode(), NDJSON)
    return head + b"transfer-encoding: chunked\r\n\r\n", [b"%x\r\n%b\r\n" % (len(block), block) for block in blocks]


def _ranks(rng: np.random.Generator, vocabulary: int) -> list[int]:
    """Zipf with exponent 1 is uniform in the logarithm of the rank."""
    found: dict[int, None] = {}
    while len(found) < FEATURES:
        drawn = np.exp(rng.random(FEATURES) * math.log(vocabulary + 1.0)).astype(np.int64) - 1
        found |= dict.fromkeys(drawn[drawn < vocabulary].tolist())
    return list(found)[:FEATURES]


def _example(ranks: Sequence[int], values: Sequence[str]) -> bytes:
    pairs = (f'"{name_of(rank)}":{value}' for rank, value in zip(ranks, values, strict=True))
    return ("{" + ",".join(pairs) + "}").encode()


def _labelled(some: Sequence[bytes]) -> list[tuple[bytes, int]]:
    """Each example comes with both labels, far apart: nearly always there is a loss, which is the dearest case."""
    labels = np.random.default_rng(SEED).choice([1, -1], len(some)).tolist()
    return [(features, sign * label) for sign in (1, -1) for features, label in zip(some, labels, strict=True)]


def _post(path: bytes, body: bytes) -> bytes:
    return _head(path, JSON, len(body)) + body


def _head(path: bytes, kind: bytes, length: int) -> bytes:
    return b"POST %b HTTP/1.1\r\nhost: sluice\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n" % (path, kind, length)
