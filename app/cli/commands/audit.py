"""`sluice audit`: who changed and who labelled what, from the audit log and from the log of a tenant."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

import msgspec

from app.auth.audit import AuditEntry, entries
from app.auth.keys import now_milliseconds
from app.cli.argument_types import duration
from app.cli.output import console, print_table, printable, warn
from app.cli.store import audit_of, store
from app.storage.client import Connection
from app.storage.event_codec import FeedbackRecord, decode_record
from app.storage.event_log import EventLog

PAGE: Final = 500  # events of a log that are read at a time, and rows that are laid out as one table
HEADS: Final = ("time (UTC)", "key", "moderator", "action", "tenant", "detail", "request")


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = (
        "Show changes of tenants and keys, from the audit log; with --tenant also the tenant's labels, from its log, "
        "as far back as that is kept. Reads the store (SLUICE_REDIS_URL, or the embedded Valkey in SLUICE_DATA_DIR)."
    )
    parser.add_argument("--tenant", help="only entries of this tenant, and its labels")
    parser.add_argument("--since", type=duration, metavar="24h", help="only entries that are not older")
    parser.add_argument("--json", action="store_true", help="print a JSON object per line")
    parser.set_defaults(run=audit)


def audit(chosen: Namespace) -> None:
    """Run the command."""
    found = asyncio.run(_entries(chosen))
    if chosen.json:
        for entry in found:
            print(msgspec.json.encode(entry).decode())
    elif not found:
        warn("There are no entries.")
    elif console().is_terminal:
        for start in range(0, len(found), PAGE):
            print_table(HEADS, map(_cells, found[start : start + PAGE]), text_columns=len(HEADS))
    else:
        for entry in found:
            print(_line(entry))


async def _entries(chosen: Namespace) -> list[AuditEntry]:
    since = 0 if chosen.since is None else now_milliseconds() - 1000 * chosen.since
    async with store() as connection:
        found = [entry async for entry in entries(audit_of(connection), since)]
        if chosen.tenant is not None:
            found = [entry for entry in found if entry.tenant == chosen.tenant]
            found += [entry async for entry in _labels(connection, chosen.tenant) if entry.at >= since]
    return sorted(found, key=lambda entry: entry.at)


async def _labels(connection: Connection, tenant: str) -> AsyncIterator[AuditEntry]:
    log, after, at = EventLog(connection, 60), 0, 0
    while events := await log.read(tenant, after, PAGE):
        after = events[-1].version
        for event in events:
            try:
                record = decode_record(event.payload)
            except (msgspec.MsgspecError, ValueError):
                detail = f"version {event.version} cannot be read; check with: sluice repair {tenant}"
                yield AuditEntry(at=at, action="damaged", tenant=tenant, detail=detail)
                continue
            at = record.at_milliseconds  # an entry that cannot be read comes right after the one before it
            if isinstance(record, FeedbackRecord):
                feedback_id = f", {record.feedback_id}" if record.feedback_id else ""
                yield AuditEntry(
                    at=record.at_milliseconds,
                    action="label",
                    key_id=record.key_id,
                    moderator=record.moderator,
                    tenant=tenant,
                    request_id=record.request_id,
                    detail=f"version {event.version}, label {record.label}{feedback_id}",
                )


def _cells(entry: AuditEntry) -> tuple[str, ...]:
    optional = (entry.key_id, entry.moderator, entry.action, entry.tenant, entry.detail, entry.request_id)
    return (_time(entry), *(text or "-" for text in optional))


def _line(entry: AuditEntry) -> str:
    """One line per entry, which `grep` can search."""
    caller = " ".join(f"{name}={text}" for name, text in (("key", entry.key_id), ("by", entry.moderator)) if text)
    action = " ".join(text for text in (entry.action, entry.tenant, entry.detail) if text)
    request = f"  ({entry.request_id})" if entry.request_id else ""
    return printable(f"{_time(entry)}  {caller or 'anonymous'}  {action}{request}")


def _time(entry: AuditEntry) -> str:
    return datetime.fromtimestamp(entry.at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
