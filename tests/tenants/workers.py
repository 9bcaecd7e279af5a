"""Several workers in one process, on one real store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np

from app.learning.example import example_of
from app.learning.state import TenantState, advance
from app.main import build_tenants
from app.storage.client import connect
from app.storage.event_codec import Record, decode, decode_record
from app.storage.event_log import Entry, EventLog
from app.storage.redis_keys import keys_of
from app.telemetry.counters import Telemetry
from app.tenants.registry import Tenants
from app.tenants.rules import Rules
from app.tenants.snapshotter import SnapshotPolicy
from app.tenants.tenant import Feedback, FeedbackResult
from tests.servers import Server

NEVER = SnapshotPolicy(every_events=1_000_000_000, every_seconds=1e9)


@asynccontextmanager
async def worker(url: str, rescued: Path, **rules: object) -> AsyncIterator[Tenants]:
    connection = connect(url)
    # Without first settings, the first label is version 1.
    made = Rules(rescued=rescued, **({"snapshots": NEVER, "first_settings": {}} | rules))  # type: ignore[arg-type]
    tenants = build_tenants(connection, made, Telemetry())
    tenants.start()
    try:
        yield tenants
    finally:
        await tenants.stop(0)
        await connection.aclose()


def feedback(number: int, feedback_id: str | None = None, label: int | None = None) -> Feedback:
    """Return feedback that depends on the number only."""
    rng = np.random.default_rng(number)
    label = label or (1 if rng.random() < 0.5 else -1)
    features = {f"f{k}": float(rng.integers(1, 4)) for k in rng.integers(0, 300, 10).tolist()}
    return Feedback(label, example_of(features | {f"class:{label}": 1.0}), feedback_id)


async def give(tenants: Tenants, name: str, *items: Feedback) -> list[FeedbackResult]:
    results = await (await tenants.hold(name)).give(items)
    assert all(isinstance(result, FeedbackResult) for result in results), results
    return results  # type: ignore[return-value]


async def digest(tenants: Tenants, name: str) -> tuple[int, str]:
    """Return version and digest, after a comparison with the log."""
    tenant = await tenants.hold(name, create=False)
    await tenants.follower.compare_once()
    return tenant.state.version, tenant.state.digest


async def until(holds: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the condition does not hold after 10 s")


async def stored_entries(url: str, name: str) -> list[Entry]:
    """Return the whole log."""
    connection = connect(url)
    entries = await EventLog(connection, 60).read(name, 0, 1_000_000)
    await connection.aclose()
    assert [entry.version for entry in entries] == list(range(1, len(entries) + 1))
    return entries


async def stored_records(url: str, name: str) -> list[Record]:
    """Return what the log says, decoded."""
    return [decode_record(entry.payload) for entry in await stored_entries(url, name)]


async def replayed(url: str, name: str) -> tuple[int, str]:
    """Return version and digest of a replay of the log."""
    state = TenantState()
    for entry in await stored_entries(url, name):
        advance(state, decode(entry.payload))
    return state.version, state.digest


def copy_of(store: Server) -> dict[bytes, bytes]:
    """Return everything in a store, as a replica has it that is cut off now."""
    return {key: store.ask("DUMP", key) for key in store.ask("KEYS", "*")}


def fail_over_to(store: Server, copy: dict[bytes, bytes]) -> None:
    """Give a store the content of an earlier copy, as a failover to a replica that is behind does."""
    store.flush_all()
    for key, value in copy.items():
        store.ask("RESTORE", key, 0, value)


def drop_snapshots(store: Server, name: str) -> None:
    """Drop all snapshots of a tenant, as a failover to a replica that is behind them does."""
    for key in store.ask("KEYS", f"{keys_of(name).prefix}:snapshot:*"):
        store.ask("DEL", key)


def lose(store: Server, name: str, events: int) -> None:
    """Drop the last events of a log, as a failover to a lagging replica does."""
    keys = keys_of(name)
    entries = store.ask("XRANGE", keys.log, "-", "+")
    kept = entries[:-events]
    store.ask("DEL", keys.log)
    for entry, fields in kept:
        store.ask("XADD", keys.log, entry, b"p", fields[b"p"], b"c", fields[b"c"])
    store.ask("HSET", keys.meta, "version", len(kept), "chain", kept[-1][1][b"c"])
    for key in store.ask("KEYS", f"{keys.prefix}:feedback:*"):
        store.ask("DEL", key)
