"""Encoded numbers in the log, in snapshots and in several workers."""

from pathlib import Path

import numpy as np
import pytest

from app.learning.example import example_of, joined
from app.storage.client import connect
from app.storage.event_codec import LongFeedbackRecord, decode_record
from app.storage.event_log import EventLog
from app.tenants.tenant import Feedback
from tests.servers import Server
from tests.tenants.workers import digest, give, replayed, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
ENCODED = {"numbers": "encoded"}


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


def payment(number: int) -> Feedback:
    """Return feedback by its number: numbers alone, beside found features, or found features alone."""
    rng = np.random.default_rng(number)
    given = example_of({"amount": float(rng.lognormal(4.0, 2.0)), "retries": float(rng.integers(3)), "is_new": 1.0})
    found = example_of({"word:free": 1.0, "length": 77.0}, is_given=False)
    example = (given, joined(given, found), found)[number % 3]
    return Feedback(1 if rng.random() < 0.3 else -1, example)


async def test_two_workers_a_snapshot_and_a_replay_agree(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as one, worker(store.url, tmp_path) as other:
        await one.configure("acme", ENCODED)
        for number in range(0, 90, 2):
            await give(one, "acme", payment(number))
            await give(other, "acme", payment(number + 1))
        await one.snapshot("acme")
        await give(other, "acme", *(payment(number) for number in range(90, 120)))
        before = await digest(one, "acme")
        assert before == await digest(other, "acme") == await replayed(store.url, "acme")
    async with worker(store.url, tmp_path) as again:
        assert await digest(again, "acme") == before
        assert (await again.hold("acme")).snapshot_version >= 90


async def test_only_tenants_with_encoded_numbers_have_the_new_record(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await tenants.configure("encoded", ENCODED)
        for name in ("raw", "encoded"):
            await give(tenants, name, *(payment(number) for number in range(3)))
    connection = connect(store.url)
    log = EventLog(connection, 60)
    raw, encoded = [[decode_record(each.payload) for each in await log.read(name, 0, 9)] for name in ("raw", "encoded")]
    await connection.aclose()
    assert [isinstance(each, LongFeedbackRecord) for each in raw] == [False] * 3
    assert [each.given if isinstance(each, LongFeedbackRecord) else 0 for each in encoded] == [0, 3, 3, 0]
