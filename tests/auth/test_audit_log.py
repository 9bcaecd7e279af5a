"""The audit in a real store, read from its end."""

import pytest

from app.auth.audit import Audit
from app.storage.access.audit_log import AuditLog
from app.storage.client import connect
from app.storage.redis_keys import AUDIT
from tests.servers import Server

pytestmark = pytest.mark.anyio


async def test_the_newest_come_first_from_any_place(store: Server) -> None:
    store.flush_all()
    connection = connect(store.url)
    log = AuditLog(connection, 10_000)
    audit = Audit(log)
    for number in range(1100):
        await audit.note(f"action-{number}", tenant="acme")
    await log.append(b"no JSON")
    found = [(name, entry.action) async for name, entry in audit.latest()]
    assert [action for _, action in found] == ["damaged", *(f"action-{number}" for number in range(1099, -1, -1))]
    middle = [entry.action async for _, entry in audit.latest(found[600][0])]
    assert middle == [action for _, action in found[601:]]
    assert [entry async for _, entry in audit.latest("0-0")] == []
    assert store.ask("XLEN", AUDIT) == 1101
    await connection.aclose()
