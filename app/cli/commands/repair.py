"""`sluice repair`: check the stored tenants, and repair a damaged one with all that is sound."""

import asyncio
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from app.auth.audit import Audit
from app.cli.output import print_json, printable
from app.cli.store import audit_of, store
from app.learning.errors import BadSetting
from app.settings import Settings
from app.storage.client import Connection
from app.storage.embedded import append_only_file
from app.storage.embedded.valkey import EmbeddedValkey
from app.storage.errors import StoreUnusable
from app.storage.event_log import EventLog
from app.storage.snapshots import SnapshotStore
from app.storage.stored_tenant import TenantStore
from app.tenants.damage.assessment import Assessment, LostEvent
from app.tenants.damage.repair import Repaired, TenantRepair
from app.tenants.errors import TenantUnknown

DAMAGED: Final = 1  # the exit code
PAGE: Final = 500  # names of tenants that are read at a time
LINES: Final = 20  # of damage or losses that are printed; --json has all


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = (
        "Check one tenant, or all, in the store (SLUICE_REDIS_URL, or the embedded Valkey in SLUICE_DATA_DIR), whether "
        "a service runs or not. Nothing is changed without --apply. The exit code is 1 if damage was found and not "
        "repaired."
    )
    parser.add_argument("tenant", nargs="?", metavar="TENANT", help="the tenant (default: check all tenants)")
    parser.add_argument("--all", action="store_true", help="check all tenants")
    parser.add_argument(
        "--store",
        action="store_true",
        help="check the append-only file of an embedded Valkey that does not start; --apply cuts off its invalid end",
    )
    parser.add_argument("--apply", action="store_true", help="repair the tenant, after a copy of everything it has")
    parser.add_argument(
        "--copy", type=Path, metavar="FILE", help="where that copy goes (default: SLUICE_DATA_DIR/rescued)"
    )
    parser.add_argument(
        "--accept-loss", action="store_true", help="repair it also if no sound state is left to begin with"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=repair)


def repair(chosen: Namespace) -> int:
    """Run the command; return its exit code."""
    if (chosen.tenant is not None) + chosen.all + chosen.store > 1:
        raise BadSetting("name one tenant, or give --all or --store")
    if chosen.apply and chosen.tenant is None and not chosen.store:
        raise BadSetting("--apply repairs one tenant: name it")
    return _repair_store(chosen) if chosen.store else asyncio.run(_run(chosen))


def _repair_store(chosen: Namespace) -> int:
    """Try to start the embedded Valkey; if it refuses its append-only file, show or cut off the invalid end."""
    settings = Settings.from_environment(os.environ)
    if settings.redis_url is not None:
        raise BadSetting("SLUICE_REDIS_URL is set: repair that Redis with its own tools (redis-check-aof)")
    embedded = EmbeddedValkey(settings.data_dir)
    try:
        embedded.start()
    except StoreUnusable as error:
        found = append_only_file.damage(settings.data_dir.resolve() / "valkey", str(error))
        if found is None:
            raise
    else:
        embedded.stop()
        print("\n".join(append_only_file.read_notes()) or f"the embedded Valkey in {settings.data_dir} starts")
        return 0
    print(found)
    if not chosen.apply:
        print("nothing was changed; cut these bytes off, with a copy of them, with: sluice repair --store --apply")
        return DAMAGED
    print(f"cut off; the bytes are in {embedded.cut(found)}")
    print("start the service, then check its tenants with: sluice repair --all")
    return 0


async def _run(chosen: Namespace) -> int:
    settings = Settings.from_environment(os.environ)
    async with store() as connection:
        log = EventLog(connection, settings.feedback_id_ttl_seconds)
        tenants = TenantStore(connection, log, settings.feedback_id_ttl_seconds)
        work = TenantRepair(tenants, SnapshotStore(connection))
        if chosen.tenant is None:
            return await _check_all(work, log, as_json=chosen.json)
        found = await work.check(chosen.tenant)
        if found.is_healthy or not chosen.apply:
            _show(found, None, as_json=chosen.json)
            return 0 if found.is_healthy else DAMAGED
        if found.consent and not chosen.accept_loss:
            _show(found, None, as_json=chosen.json)
            raise BadSetting(f"{found.consent}; --accept-loss repairs it nevertheless")
        copy = chosen.copy or settings.data_dir / "rescued" / f"{chosen.tenant}-{_now()}.damaged"
        found, repaired = await _apply(work, connection, found, copy)
        _show(found, repaired, as_json=chosen.json)
        return 0


async def _apply(
    work: TenantRepair, connection: Connection, found: Assessment, copy: Path
) -> tuple[Assessment, Repaired]:
    audit = Audit(audit_of(connection))

    async def announce(found: Assessment) -> None:
        detail = f"by the command line; {_summary(found)}; copy: {copy}"
        await audit.note("repair_tenant", tenant=found.stored.tenant, detail=detail)

    return await work.repair(found, copy, announce)


async def _check_all(work: TenantRepair, log: EventLog, *, as_json: bool) -> int:
    damaged, checked, after = [], 0, ""
    while names := await log.tenants(after, PAGE):
        after = names[-1]
        for name in names:
            try:
                found = await work.check(name)
            except TenantUnknown:  # its creation or deletion was interrupted
                continue
            checked += 1
            if not found.is_healthy:
                damaged.append(_facts(found, None))
                if not as_json:
                    _show(found, None, as_json=False)
                    print()
    if as_json:
        print_json({"checked": checked, "damaged": damaged})
    else:
        print(f"{checked:,} tenants checked, {len(damaged):,} damaged")
    return DAMAGED if damaged else 0


def _show(found: Assessment, repaired: Repaired | None, *, as_json: bool) -> None:
    if as_json:
        print_json(_facts(found, repaired))
        return
    tenant = found.stored.tenant
    if found.is_healthy:
        print(f"tenant {tenant} is sound: {_base(found)}, and the log up to version {found.end_version:,}")
        return
    print(f"tenant {tenant} {'was' if repaired else 'is'} damaged:")
    _print_some([f"  {each}" for each in found.damage])
    print(f"newest sound state: {_base(found)}")
    print(f"kept behind it: {_count(len(found.after), 'event')}")
    if found.unproven:
        print(f"  of these, nothing proves that {_count(len(found.unproven), 'readable event')} are unchanged")
    if found.only_in_copy:
        print(f"only in the copy: {found.only_in_copy:,} older entries, whose labels the snapshot contains")
    print(f"lost: {_count(found.lost_events, 'event')}")
    _print_some([f"  {_line(each)}" for each in found.lost])
    if repaired is None:
        if found.lost:
            print(f"a service that still predicts for it may have all of it: try POST /tenants/{tenant}/snapshot first")
        need = " --accept-loss" if found.consent else ""
        print(f"nothing was changed; repair it with: sluice repair {tenant} --apply{need}")
    else:
        print(f"repaired: the tenant is at version {repaired.version:,} (it was at {found.end_version:,})")
        if found.lost:
            print("the events behind the first lost one have lower versions now; their feedback_ids are known")
        print(f"copy of what was stored: {repaired.copy}")


def _print_some(lines: list[str]) -> None:
    for line in lines[:LINES]:
        print(printable(line))
    if len(lines) > LINES:
        print(f"  and {len(lines) - LINES:,} more; --json shows all")


def _base(found: Assessment) -> str:
    if found.base is not None:
        return f"snapshot {found.base.version:,}"
    return "an empty model" if found.consent else "the beginning of the log"


def _line(lost: LostEvent) -> str:
    if lost.until > lost.version:
        return f"versions {lost.version:,} to {lost.until:,}: {lost.reason}"
    known = [
        f"{name} {value}"
        for name, value in (("label", lost.label), ("by", lost.moderator), ("id", lost.feedback_id))
        if value
    ]
    if lost.at_milliseconds is not None:
        known.append(f"at {_time(lost.at_milliseconds)}")
    readable = f" (as far as it can be read: {', '.join(known)})" if known else ""
    return f"version {lost.version:,}: {lost.reason}{readable}"


def _summary(found: Assessment) -> str:
    lost = ", ".join(
        f"{each.version}-{each.until}" if each.count > 1 else str(each.version) for each in found.lost[:LINES]
    )
    return f"{len(found.after)} events kept behind {_base(found)}, {found.lost_events} lost" + (
        f" (versions {lost}{', ...' if len(found.lost) > LINES else ''})" if lost else ""
    )


def _facts(found: Assessment, repaired: Repaired | None) -> dict[str, Any]:
    return {
        "tenant": found.stored.tenant,
        "healthy": found.is_healthy,
        "damage": found.damage,
        "version": found.end_version,
        "snapshot": found.base.version if found.base else None,
        "kept_events": len(found.after),
        "kept": _ranges([entry.version for entry in found.after]),
        "unproven": found.unproven,
        "lost": [msgspec.to_builtins(each) for each in found.lost],
        "lost_events": found.lost_events,
        "entries_only_in_copy": found.only_in_copy,
        "needs_accept_loss": found.consent,
        "repaired": repaired is not None,
        "new_version": repaired.version if repaired else None,
        "copy": str(repaired.copy) if repaired else None,
    }


def _ranges(versions: Sequence[int]) -> list[list[int]]:
    """Return the first and the last version of each run without a gap."""
    runs: list[list[int]] = []
    for version in versions:
        if runs and version == runs[-1][1] + 1:
            runs[-1][1] = version
        else:
            runs.append([version, version])
    return runs


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _time(at_milliseconds: int) -> str:
    try:
        return datetime.fromtimestamp(at_milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{at_milliseconds} ms"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
