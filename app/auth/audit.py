"""The audit: an entry is written before anything is changed, so that no change is without one."""

from collections.abc import AsyncIterator

import msgspec

from app.auth.keys import now_milliseconds
from app.storage.access.audit_log import AuditLog


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry of the audit. It has no key id where no key was needed."""

    at: int
    action: str
    key_id: str | None = None
    moderator: str | None = None
    tenant: str | None = None
    request_id: str | None = None
    detail: str | None = None


class Audit:
    """The audit of a service; without a log, as in tests, it keeps nothing."""

    def __init__(self, log: AuditLog | None = None) -> None:
        self._log = log

    async def note(
        self,
        action: str,
        *,
        key_id: str | None = None,
        tenant: str | None = None,
        request_id: str | None = None,
        detail: str | None = None,
    ) -> None:
        """Add an entry; StoreUnavailable if that fails, and then the caller must change nothing."""
        if self._log is None:
            return
        entry = AuditEntry(
            at=now_milliseconds(), action=action, key_id=key_id, tenant=tenant, request_id=request_id, detail=detail
        )
        await self._log.append(msgspec.json.encode(entry))

    async def latest(self, before: str | None = None) -> AsyncIterator[tuple[str, AuditEntry]]:
        """Yield ids and entries, the newest first; one that cannot be read is shown as that, at the time of its id."""
        if self._log is not None:
            async for name, raw in self._log.read_back(before):
                yield name, _decode(raw, int(name.partition("-")[0]))


async def entries(log: AuditLog, since_milliseconds: int = 0) -> AsyncIterator[AuditEntry]:
    """Yield all entries since a time; one that cannot be read is shown as that, at the time of the one before it."""
    at = since_milliseconds
    async for raw in log.read(since_milliseconds):
        entry = _decode(raw, at)
        at = entry.at
        yield entry


def _decode(raw: bytes, at: int) -> AuditEntry:
    try:
        return msgspec.json.decode(raw, type=AuditEntry)
    except msgspec.DecodeError:
        return AuditEntry(at=at, action="damaged", detail="an entry of the audit cannot be read")
