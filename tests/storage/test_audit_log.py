"""The audit log in a real store."""

import pytest

from app.storage.access import audit_log
from app.storage.access.audit_log import AuditLog
from app.storage.client import Connection

pytestmark = pytest.mark.anyio


async def read(log: AuditLog, since: int = 0) -> list[bytes]:
    return [entry async for entry in log.read(since)]


async def test_entries_come_back_in_order_over_several_pages(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "PAGE", 10)
    log = AuditLog(connection, 1_000_000)
    written = [b"%d" % number for number in range(27)]
    for entry in written:
        await log.append(entry)
    assert await read(log) == written
    assert await read(log, since=2**50) == []


async def test_the_oldest_entries_are_dropped_beyond_the_limit(connection: Connection) -> None:
    log = AuditLog(connection, 100)
    for number in range(300):
        await log.append(b"%d" % number)
    kept = await read(log)
    assert 100 <= len(kept) < 300, "the store drops them by the hundred"
    assert kept[-1] == b"299"
