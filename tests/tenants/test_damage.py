"""Damage of a stored tenant: it is found, and a repair keeps every event whose payload is intact."""

import os
from pathlib import Path

import numpy as np
import pytest

from app.learning.replay import advance_all
from app.learning.state import TenantState
from app.storage.event_codec import FeedbackRecord, decode, decode_record, fingerprint_of
from app.storage.event_log import EventLog
from app.storage.redis_keys import keys_of
from app.storage.snapshots import SnapshotStore
from app.tenants.damage.assessment import Assessment
from app.tenants.damage.repair import read_copy
from app.tenants.errors import TenantDamaged
from app.tenants.recovery import Recovery
from app.tenants.snapshotter import SnapshotPolicy
from tests.servers import Server
from tests.tenants.damages import FAULTS, Saved, entries, repair_of
from tests.tenants.workers import feedback, give, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

TENANT = "acme"
SHAPES = {  # versions at which a snapshot is taken, how many are kept, how many events the log retains
    "log": ((), 3, 1000),
    "snapshots": ((12, 24, 30), 3, 1000),
    "one-snapshot": ((20,), 3, 1000),
    "trimmed": ((12, 24, 30), 2, 0),
}
EVENTS = 40
TRIALS = int(os.environ.get("DAMAGE_TRIALS", "1"))  # more of them find what is rare


class Made:
    """A sound tenant in a store: its values, and its events by version."""

    def __init__(self, saved: Saved, payloads: dict[int, bytes], digest: str) -> None:
        self.saved = saved
        self.payloads = payloads
        self.digest = digest


async def make(store: Server, folder: Path, shape: str) -> Made:
    store.flush_all()
    at, kept, retained = SHAPES[shape]
    policy = SnapshotPolicy(every_events=10**9, every_seconds=1e9, kept=kept, retained_events=retained)
    payloads: dict[int, bytes] = {}
    async with worker(store.url, folder, snapshots=policy) as tenants:
        await tenants.configure(TENANT, {"eta": 0.5})
        for number in range(2, EVENTS + 1):
            feedback_id = f"id-{number}" if number % 3 else None
            await give(tenants, TENANT, feedback(number, feedback_id))
            if number in at:
                payloads |= stored_payloads(store)
                await tenants.snapshot(TENANT)
        digest = (await tenants.hold(TENANT)).state.digest
    payloads |= stored_payloads(store)
    assert sorted(payloads) == list(range(1, EVENTS + 1))
    return Made(Saved.of(store), payloads, digest)


def stored_payloads(store: Server) -> dict[int, bytes]:
    return {int(name[2:]): fields.get(b"p", b"") for name, fields in entries(store, TENANT)}


def replayed(made: Made, found: Assessment) -> TenantState:
    """Replay exactly what the assessment says is kept, from the events as they were given."""
    state = TenantState()
    start = found.base.version if found.base else 0
    advance_all(state, (decode(made.payloads[version]) for version in range(1, start + 1)))
    for entry in found.after:
        if entry.version in found.confirmed:
            assert labelled(entry.payload) == labelled(made.payloads[entry.version])
        elif entry.version not in found.unproven:
            assert entry.payload == made.payloads[entry.version], f"event {entry.version} was changed, and is trusted"
    advance_all(state, (decode(entry.payload) for entry in found.after))
    return state


def labelled(payload: bytes) -> str:
    """Return the hash of label and input."""
    record = decode_record(payload)
    assert isinstance(record, FeedbackRecord)
    return fingerprint_of(record)


@pytest.fixture(scope="module", params=SHAPES)
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_repair_keeps_every_intact_event_and_says_what_it_lost(
    store: Server, tmp_path: Path, shape: str, fault: str
) -> None:
    made = await made_once(store, tmp_path, shape)
    for trial in range(TRIALS):
        rng = np.random.default_rng([trial, list(FAULTS).index(fault), list(SHAPES).index(shape)])
        made.saved.put_back(store)
        what = FAULTS[fault](rng, store, TENANT)
        intact = (
            {version for version, found in stored_payloads(store).items() if made.payloads.get(version) == found}
            if store.ask("TYPE", keys_of(TENANT).log) == b"stream"
            else set()
        )
        connection, repair = repair_of(store.url)
        try:
            found = await repair.check(TENANT)
            start = found.base.version if found.base else 0
            kept = {entry.version for entry in found.after}
            assert {version for version in intact if version > start} <= kept, what
            lost = {version for each in found.lost for version in range(each.version, each.until + 1)}
            assert kept.isdisjoint(lost), what
            assert kept | lost | set(range(1, start + 1)) >= set(range(1, EVENTS + 1)), what
            expected = replayed(made, found)
            if found.is_healthy:
                continue
            found, repaired = await repair.repair(found, tmp_path / "copy", announced)
            assert repaired.digest == expected.digest, what
            again = await repair.check(TENANT)
            assert again.damage == [], what
            loaded = (await Recovery(EventLog(connection, 600), SnapshotStore(connection)).load(TENANT)).tenant
            assert loaded is not None
            assert (loaded.state.version, loaded.state.digest) == (expected.version, expected.digest), what
            assert read_copy(tmp_path / "copy") == found.stored
        finally:
            await connection.aclose()


_made: dict[tuple[str, str], Made] = {}


async def made_once(store: Server, folder: Path, shape: str) -> Made:
    if (store.url, shape) not in _made:
        _made[store.url, shape] = await make(store, folder, shape)
    return _made[store.url, shape]


async def announced(_: Assessment) -> None:
    pass


async def test_a_sound_tenant_is_healthy(store: Server, tmp_path: Path, shape: str) -> None:
    made = await made_once(store, tmp_path, shape)
    made.saved.put_back(store)
    connection, repair = repair_of(store.url)
    found = await repair.check(TENANT)
    await connection.aclose()
    assert found.damage == []
    assert found.lost == []
    assert replayed(made, found).digest == made.digest


async def test_a_log_without_its_meta_is_damage_and_not_a_new_tenant(store: Server, tmp_path: Path) -> None:
    store.flush_all()
    first = {"first_settings": {"bias": True}}
    async with worker(store.url, tmp_path, **first) as tenants:
        await give(tenants, TENANT, feedback(1), feedback(2))
    store.ask("DEL", keys_of(TENANT).meta)
    async with worker(store.url, tmp_path, **first) as tenants:
        with pytest.raises(TenantDamaged, match="sluice repair acme"):
            await give(tenants, TENANT, feedback(3))
    assert len(entries(store, TENANT)) == 3
