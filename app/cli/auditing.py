"""What `sluice audit` finds in the store, and how it is told."""

import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import msgspec

from app.auth.audit import AuditEntry, entries
from app.auth.authenticator import now_milliseconds
from app.cli.storing import audit_of, store
from app.storage.client.connection import Connection
from app.storage.event_codec import FeedbackRecord, decode_record
from app.storage.event_log import Log

PAGE = 500


async def show(chosen: Namespace) -> None:
    """Print what there is."""
    since = 0 if chosen.since is None else now_milliseconds() - 1000 * chosen.since
    async with store() as connection:
        found = [each async for each in entries(audit_of(connection), since)]
        if chosen.tenant is not None:
            found = [each for each in found if each.tenant == chosen.tenant]
            found += [each async for each in _labels(connection, chosen.tenant) if each.at >= since]
    for entry in sorted(found, key=lambda entry: entry.at):
        print(msgspec.json.encode(entry).decode() if chosen.json else _line(entry))
    if not found and not chosen.json:
        print("Nothing is known.", file=sys.stderr)


async def _labels(connection: Connection, tenant: str) -> AsyncIterator[AuditEntry]:
    log, after = Log(connection, 60), 0
    while found := await log.read(tenant, after, PAGE):
        after = found[-1].version
        for each in found:
            record = decode_record(each.payload)
            if isinstance(record, FeedbackRecord):
                yield _label(tenant, each.version, record)


def _label(tenant: str, version: int, record: FeedbackRecord) -> AuditEntry:
    told = f"version {version}, label {record.label}" + (f", {record.feedback_id}" if record.feedback_id else "")
    return AuditEntry(
        at=record.at_milliseconds,
        action="label",
        key_id=record.key_id,
        moderator=record.moderator,
        tenant=tenant,
        request_id=record.request_id,
        detail=told,
    )


def _line(entry: AuditEntry) -> str:
    at = datetime.fromtimestamp(entry.at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    who = " ".join(f"{name}={value}" for name, value in (("key", entry.key_id), ("by", entry.moderator)) if value)
    what = " ".join(part for part in (entry.action, entry.tenant, entry.detail) if part)
    return f"{at}  {who or 'anybody'}  {what}" + (f"  ({entry.request_id})" if entry.request_id else "")
