"""Checks of states without the labels that were taken back."""

from functools import partial

from app.learning.state import TenantState, advance
from app.storage.event_codec import decode, is_retraction, label_hash
from app.storage.event_log import Entry
from app.tenants.labels.retraction import Asked, Retracted
from app.tenants.labels.stored_labels import LabelFilter, retracted_in
from app.tenants.registry import Tenants
from app.tenants.snapshotter import SnapshotPolicy
from app.tenants.tenant import Tenant
from tests.servers import Server
from tests.tenants.workers import digest, stored_entries, until

NAME = "acme"
MANY = SnapshotPolicy(every_events=10**9, every_seconds=1e9, kept=5)
SHORT = SnapshotPolicy(every_events=10**9, every_seconds=1e9, kept=1, retained_events=0)


def without_retracted(entries: list[Entry]) -> TenantState:
    """Replay a log from which retractions and the labels that they name are struck out."""
    retracted = retracted_in(entries)
    state = TenantState()
    for entry in entries:
        if not is_retraction(entry.payload) and label_hash(entry.payload) not in retracted:
            advance(state, decode(entry.payload))
    state.version = entries[-1].version
    return state


def has_applied(tenant: Tenant, version: int) -> bool:
    return tenant.state.version == version


async def retract(tenants: Tenants, *ids: str, dry_run: bool = False) -> Retracted:
    return await tenants.retract(NAME, LabelFilter(feedback_ids=frozenset(ids)), Asked("a test"), dry_run=dry_run)


async def check(store: Server, *workers: Tenants) -> None:
    """Check that every worker has the state of the log without what was taken back."""
    entries = await stored_entries(store.url, NAME)
    expected = without_retracted(entries)
    for tenants in workers:
        tenant = await tenants.hold(NAME)
        await until(partial(has_applied, tenant, entries[-1].version))
        assert await digest(tenants, NAME) == (expected.version, expected.digest)
