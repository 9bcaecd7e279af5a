"""The rate limit of a caller, by a fake clock."""

from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.api.context import CONTEXT, RequestContext
from app.api.errors import TooManyRequests
from app.api.middleware.rate_limit import MAX_CALLERS, RateLimiter
from app.auth.rate_windows import OwnRateWindows, RateWindows
from app.telemetry.counters import Requests
from tests.api.conftest import new_app, new_backend
from tests.api.fake_pending import FakePending
from tests.api.fakes import FakeTenants

ASKED = {"tenant": "acme", "features": {"a": 1}}


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Key:
    id: str


@pytest.fixture
def clock() -> Clock:
    return Clock()


def new_limiter(
    per_second: int,
    requests: Requests | None = None,
    callers: RateWindows | None = None,
    **more: Any,  # noqa: ANN401
) -> RateLimiter:
    return RateLimiter(
        per_second, requests or Requests(), OwnRateWindows(MAX_CALLERS) if callers is None else callers, **more
    )


def scope(client: str = "10.0.0.1", key: object = None, **more: object) -> dict[str, Any]:
    context = RequestContext(key=key)  # type: ignore[arg-type]
    return {"path": "/predict", "client": (client, 1234), CONTEXT: context, **more}


def passes(limiter: RateLimiter, asked: dict[str, Any]) -> bool:
    try:
        limiter.take(asked)
    except TooManyRequests:
        return False
    return True


def limits_in(asked: dict[str, Any]) -> list[int]:
    """Return RateLimit-Limit, -Remaining and -Reset."""
    assert [name for name, _ in asked[CONTEXT].headers] == [
        b"ratelimit-limit",
        b"ratelimit-remaining",
        b"ratelimit-reset",
    ]
    return [int(value) for _, value in asked[CONTEXT].headers]


@pytest.mark.parametrize("rate", [1, 3, 7, 1000])
def test_one_second_s_worth_passes_at_once_and_no_more(rate: int, clock: Clock) -> None:
    limiter = new_limiter(rate, now=clock)
    assert [passes(limiter, scope()) for _ in range(rate + 2)] == [True] * rate + [False] * 2


@pytest.mark.parametrize("rate", [1, 3, 7, 1000])
def test_over_a_long_time_the_rate_passes(rate: int, clock: Clock) -> None:
    limiter = new_limiter(rate, now=clock)
    passed = 0
    for _ in range(rate * 50):  # five times as often as allowed, for ten seconds
        passed += passes(limiter, scope())
        clock.seconds += 0.2 / rate
    assert rate * 11 - 1 <= passed <= rate * 11  # the full bucket it began with, and ten seconds


def test_a_token_is_back_after_its_time(clock: Clock) -> None:
    limiter = new_limiter(4, now=clock)
    for _ in range(4):
        limiter.take(scope())
    clock.seconds += 0.24
    assert not passes(limiter, scope())
    clock.seconds += 0.02
    assert passes(limiter, scope())
    assert not passes(limiter, scope())


def test_a_refusal_takes_nothing(clock: Clock) -> None:
    limiter = new_limiter(1, now=clock)
    limiter.take(scope())
    for _ in range(9):
        clock.seconds += 0.1
        assert not passes(limiter, scope())
    clock.seconds += 0.1
    assert passes(limiter, scope())


def test_headers_have_the_remaining_requests(clock: Clock) -> None:
    limiter = new_limiter(3, now=clock)
    asked = [scope() for _ in range(4)]
    assert [passes(limiter, each) for each in asked] == [True, True, True, False]
    assert [limits_in(each) for each in asked] == [[3, 2, 1], [3, 1, 1], [3, 0, 1], [3, 0, 1]]


def test_callers_do_not_share(clock: Clock) -> None:
    limiter = new_limiter(1, now=clock)
    callers: list[dict[str, Any]] = [
        scope("10.0.0.1"), scope("10.0.0.2"), scope(key=Key("k1")), scope(key=Key("k2")), scope(),
    ]  # fmt: skip
    callers[-1]["client"] = None  # a server that does not know the client
    for _ in range(2):
        assert [passes(limiter, dict(each)) for each in callers] == [True] * 5
        assert [passes(limiter, dict(each)) for each in callers] == [False] * 5
        clock.seconds += 1.0


def test_a_key_is_one_caller_from_any_address(clock: Clock) -> None:
    limiter = new_limiter(1, now=clock)
    assert passes(limiter, scope("10.0.0.1", key=Key("k")))
    assert not passes(limiter, scope("10.0.0.2", key=Key("k")))
    assert passes(limiter, scope("10.0.0.2", key=None))


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_health_and_metrics_are_free(path: str, clock: Clock) -> None:
    limiter = new_limiter(1, now=clock)
    assert all(passes(limiter, scope(path=path)) for _ in range(5))
    assert len(limiter) == 0


def test_full_buckets_are_removed(clock: Clock) -> None:
    limiter = new_limiter(10, now=clock)
    for number in range(1000):
        limiter.take(scope(str(number)))
        clock.seconds += 0.01
    assert len(limiter) <= 11  # a bucket with one token missing is full after 0.1 s
    clock.seconds += 1.0
    limiter.take(scope("another"))
    assert len(limiter) == 1


def test_there_are_never_more_buckets_than_allowed_and_the_busiest_stays(clock: Clock) -> None:
    limiter = new_limiter(2, now=clock, callers=OwnRateWindows(50))
    limiter.take(scope("busy"))
    limiter.take(scope("busy"))
    for number in range(49):
        limiter.take(scope(str(number)))
    assert not passes(limiter, scope("busy"))
    for number in range(1000):
        limiter.take(scope(f"more-{number}"))
        assert len(limiter) <= 50


def test_refusals_are_counted(clock: Clock) -> None:
    requests = Requests()
    limiter = new_limiter(1, requests, now=clock)
    for _ in range(3):
        passes(limiter, scope())
    assert {reason: count for reason, count in requests.shed.items() if count} == {"rate": 2}


def test_wrong_keys_are_counted_apart_and_nowhere_free(clock: Clock) -> None:
    requests = Requests()
    limiter = new_limiter(1, requests, now=clock, reason="wrong_key")
    assert [passes(limiter, scope(path="/metrics")) for _ in range(3)] == [True, False, False]
    assert {reason: count for reason, count in requests.shed.items() if count} == {"wrong_key": 2}
    with pytest.raises(TooManyRequests, match="SLUICE_WRONG_KEYS_PER_SECOND"):
        limiter.take(scope())


@pytest.fixture
def limited(tenants: FakeTenants, pending: FakePending, clock: Clock) -> FastAPI:
    return new_app(new_backend(tenants, pending, rate_limiter=new_limiter(2, now=clock)))


@pytest.mark.anyio
async def test_a_caller_beyond_its_rate_gets_429_and_is_served_again_later(limited: FastAPI, clock: Clock) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(limited), base_url="http://sluice") as client:
        answers = [await client.post("/predict", json=ASKED) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["1", "0", "0"]
        refused = answers[-1]
        assert refused.json()["type"] == "/problems/too-many-requests"
        assert refused.headers["content-type"] == "application/problem+json"
        assert (refused.headers["retry-after"], refused.headers["ratelimit-limit"]) == ("1", "2")
        assert (await client.get("/livez")).status_code == 200
        clock.seconds += float(refused.headers["retry-after"])
        assert (await client.post("/predict", json=ASKED)).status_code == 200


@pytest.mark.anyio
async def test_a_problem_also_has_the_rate_limit_headers(limited: FastAPI) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(limited), base_url="http://sluice") as client:
        answer = await client.post("/predict", json={})
    assert (answer.status_code, answer.headers["ratelimit-remaining"]) == (422, "1")


@pytest.mark.anyio
async def test_without_a_limit_no_answer_speaks_of_one(app: FastAPI) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://sluice") as client:
        answer = await client.post("/predict", json=ASKED)
    assert not [name for name in answer.headers if name.startswith("ratelimit")]
