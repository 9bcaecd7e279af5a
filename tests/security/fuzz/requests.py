"""Fuzzers for requests: bodies, lines, settings. The application is real, with tenants in memory."""

import asyncio
from dataclasses import replace
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import strategies as st

from app.api.fast_path.ndjson import LineSplitter, TooLong
from app.learning.config import DEFAULTS, RULES, config_of
from app.learning.errors import BadExample, BadSetting
from app.learning.example import example_of, example_of_json
from app.learning.state import TenantState
from kernels.registry import ALGORITHMS
from tests.api.conftest import LIMITS as DEFAULT_LIMITS
from tests.api.conftest import new_app, new_backend
from tests.api.exchanges import Headers, exchange
from tests.api.fakes import FakeTenants
from tests.security.fuzz.mutations import anything

LIMITS = replace(
    DEFAULT_LIMITS, max_body_bytes=1 << 19, max_batch_items=100, max_line_bytes=1000, max_features_per_example=100
)
LINES: Headers = [(b"content-type", b"application/x-ndjson")]
FEATURES = [
    b'{"a":1}',
    b'{"a":1,"b":-0.5,"c":true,"d":false,"e":"text","\\u0066":1e-3}',
    b'{"\xc3\xa9":12345678901234567890}',
]
ITEMS = [
    *(b'{"tenant":"a","features":%b}' % features for features in FEATURES),
    b'{"tenant":"a","features":{"a":1},"label":1,"feedback_id":"f","moderator":"m"}',
    b'{"tenant":"a","prediction_id":"kept-0","label":-1}',
    b'{"tenant":"a","url":"http://a.b/c?d","explain":5,"keep":false}',
    b'{"tenant":"a","email":"Subject: x\\r\\n\\r\\ny","label":1}',
    b'{"tenant":"a","email":{"base64":"U3ViamVjdDogaGkNCg0KaGkNCg=="}}',
    b'{"tenant":"a","text":"Claim your prize"}',
]
BATCHES = [b'{"tenant":"a","items":[%b]}' % item for item in ITEMS]
SETTINGS = [b'{"algorithm":"cs-fsol","eta":0.5}', b'{"lambda":1e-3,"bias":true,"costs":"given","cost_positive":2}']
WORDS = [
    b'"features":',
    b'"tenant":',
    b'"items":',
    b'"label":',
    b'{"a":1}',
    *(b'"%b":' % name.encode() for name in DEFAULTS),
]
ROUTES = ["/predict", "/feedback", "/features", "/predict/batch", "/feedback/batch"]


def features() -> st.SearchStrategy[bytes]:
    return anything(FEATURES)


def read_features(raw: bytes) -> None:
    """The kernel and Python agree on every text that both can parse."""
    try:
        example = example_of_json(raw)
    except BadExample:
        return
    names = dict(zip(example.names, example.values.tolist(), strict=True))
    assert example_of(names).keys.tobytes() == example.keys.tobytes()
    TenantState().predict(example)


def bodies() -> st.SearchStrategy[tuple[str, bytes]]:
    return st.tuples(st.sampled_from(ROUTES), anything([*ITEMS, *BATCHES], WORDS))


def answer_body(sent: tuple[str, bytes]) -> None:
    """No body gets a 5xx."""
    route, body = sent
    _, status, answer = asyncio.run(_request("POST", route, [body]))
    assert status < 500, (status, answer)


def lines() -> st.SearchStrategy[tuple[str, bytes, list[float]]]:
    line = anything([b"\n".join(ITEMS), b"\r\n".join(ITEMS) + b"\n"], [*WORDS, b"\n"])
    return st.tuples(
        st.sampled_from(["/predict/batch", "/feedback/batch"]), line, st.lists(st.floats(0.0, 1.0), max_size=8)
    )


def answer_lines(sent: tuple[str, bytes, list[float]]) -> None:
    """The lines do not depend on how the body is split; each gets one answer, and none is a 5xx."""
    route, body, shares = sent
    cuts = [0, *sorted(int(share * len(body)) for share in shares), len(body)]
    chunks = [body[start:stop] for start, stop in pairwise(cuts)]
    once, often = LineSplitter(LIMITS.max_line_bytes), LineSplitter(LIMITS.max_line_bytes)
    whole = _without_too_long([*once.split(body), *once.rest()])
    assert _without_too_long([line for chunk in chunks for line in often.split(chunk)] + often.rest()) == whole
    messages, status, answer = asyncio.run(_request("POST", route, chunks, LINES))
    assert (status, messages > 0) == (200, True)
    answers = [msgspec.json.decode(line) for line in answer.splitlines()]
    assert len(answers) == len(whole)
    assert all(each.get("error", {}).get("status", 0) < 500 for each in answers)


def settings() -> st.SearchStrategy[bytes | dict[str, Any]]:
    known = [*ALGORITHMS, "auto", "given", "l2", "none", "u", "theta", "sqrt_t", "coordinate", 1e12, 1e-12, 0.5]
    plain = [st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)]
    values: st.SearchStrategy[Any] = st.one_of(st.sampled_from(known), *plain)
    return st.one_of(anything(SETTINGS, WORDS), st.dictionaries(st.sampled_from(list(RULES)), values, max_size=5))


def take_settings(given: bytes | dict[str, Any]) -> None:
    """Settings are refused, or a model can learn with them."""
    if isinstance(given, bytes):
        _, status, answer = asyncio.run(_request("PUT", "/tenants/a", [given]))
        assert status < 500, (status, answer)
        return
    try:
        state = TenantState(config_of(given).values)
    except BadSetting:
        return
    example = example_of({"a": 1.0, "b": -0.5})
    state.model.learn(example, 1)
    state.model.learn(example, -1)
    assert isinstance(state.predict(example)[1], int)


def _without_too_long(cut: list[Any]) -> list[bytes | None]:
    return [None if isinstance(line, TooLong) else line for line in cut]


async def _request(method: str, path: str, chunks: list[bytes], headers: Headers = ()) -> tuple[int, int, bytes]:
    tenants = FakeTenants()
    app = new_app(new_backend(tenants, limits=LIMITS))

    async def as_method(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own
        await app({**scope, "method": method}, receive, send)

    seen = await exchange(as_method, path, chunks, headers)
    return len(seen.messages), seen.status, seen.body
