"""The assessment of a stored tenant: what is damaged, which state is the newest sound one, what is kept and lost."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from app.learning.errors import SluiceError
from app.learning.state import TenantState
from app.storage.event_codec import FeedbackRecord, decode_record
from app.storage.event_codec import decode as decode_event
from app.storage.event_log import Entry
from app.storage.stored_tenant import StoredTenant
from app.tenants.damage.chain import Anchors, CheckedEntry, Proof, check_chain
from app.tenants.damage.snapshots import StoredSnapshot, bad_chunks, state_of, stored_snapshots

ENTRY_ID = re.compile(rb"(\d+)-(\d+)")
PROVEN = {Proof.SOUND, Proof.CHAIN_CHANGED}
DISPROVED = {Proof.PAYLOAD_CHANGED, Proof.CHANGED}
CONTRADICTED = "it does not follow what is stored about the entry before it; one of the two was changed"
CONFIRMED = "it was changed, but the record of its feedback_id confirms label and input; it is kept"
Confirm = Callable[[str, Entry], Awaitable[bool | None]]  # incarnation, entry: does its feedback_id's record agree?


class LostEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event that cannot be kept, with what can be read of it; or several that are missing."""

    version: int
    until: int
    reason: str
    kind: str | None = None
    label: int | None = None
    moderator: str | None = None
    at_milliseconds: int | None = None
    feedback_id: str | None = None

    @property
    def count(self) -> int:
        """The number of events."""
        return self.until - self.version + 1


@dataclass(slots=True)
class Assessment:
    """What is wrong with a stored tenant, and what a repair keeps of it."""

    stored: StoredTenant
    damage: list[str] = field(default_factory=list)
    incarnation: str | None = None  # the true one, as far as it can be told
    end_version: int = 0  # of the stored log
    base: StoredSnapshot | None = None  # the newest sound snapshot; None: the beginning of the log
    before: list[Entry] = field(default_factory=list)  # entries that lead to the snapshot, without a gap
    after: list[Entry] = field(default_factory=list)  # entries behind it, to be learnt again
    unproven: list[int] = field(default_factory=list)  # versions of those that are kept without proof
    confirmed: list[int] = field(default_factory=list)  # versions of those of which label and input are proven
    lost: list[LostEvent] = field(default_factory=list)
    only_in_copy: int = 0  # entries whose labels the snapshot contains, but which the new log cannot have
    bad_chunks: list[str] = field(default_factory=list)
    consent: str | None = None  # why --accept-loss is needed

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is damaged."""
        return not self.damage

    @property
    def lost_events(self) -> int:
        """The number of events that are lost."""
        return sum(lost.count for lost in self.lost)

    def base_state(self) -> TenantState:
        """Return the newest sound state."""
        return TenantState() if self.base is None else state_of(self.base.header, self.stored)


async def assess(stored: StoredTenant, confirm: Confirm) -> Assessment:
    """Find everything that is wrong with a tenant."""
    found = Assessment(stored)
    found.damage += [f"{kind} has a value of the wrong type" for kind in stored.foreign]
    found.bad_chunks = bad_chunks(stored)
    entries = _entries(stored, found)
    snapshots = stored_snapshots(stored)
    found.damage += [f"snapshot {each.version:,}: {each.flaw}" for each in snapshots if each.flaw and not each.is_aside]
    meta = {name: stored.meta.get(name, b"").decode(errors="replace") for name in (b"born", b"version", b"chain")}
    sound = [each for each in snapshots if not each.flaw]
    is_certain = _find_incarnation(found, meta[b"born"], entries, sound)
    sound = [each for each in sound if each.incarnation == found.incarnation]
    anchors: dict[int, set[str]] = {0: {found.incarnation}} if found.incarnation else {}
    for each in sound:
        anchors.setdefault(each.version, set()).add(each.chain)
    if entries and meta[b"chain"]:
        anchors.setdefault(entries[-1].version, set()).add(meta[b"chain"])
    checked = check_chain(entries, found.incarnation if is_certain else None, anchors)
    kept = await _kept(found, checked, anchors, confirm)
    _check_meta(found, meta, checked, sound)
    _choose_base(found, checked, sound)
    _divide(found, checked, kept)
    return found


def _entries(stored: StoredTenant, found: Assessment) -> list[Entry]:
    entries = []
    for name, fields in stored.log:
        match = ENTRY_ID.fullmatch(name)
        assert match is not None  # Redis has no other ids
        version, shown = int(match[2]), name.decode()
        if match[1] != b"0":
            found.damage.append(f"entry {shown} has an id that Sluice does not give")
        if b"p" not in fields or b"c" not in fields:
            found.damage.append(f"entry {shown} lacks its payload or its chain")
        entries.append(Entry(version, fields.get(b"p", b""), fields.get(b"c", b"").decode(errors="replace")))
    return entries


def _find_incarnation(found: Assessment, born: str, entries: Sequence[Entry], sound: Sequence[StoredSnapshot]) -> bool:
    """Find the true incarnation. Return whether two places agree about it, so that it can prove the first entry."""
    current = [each for each in sound if not each.is_aside] or sound  # those set aside may be of earlier incarnations
    names = Counter([each.incarnation for each in current if each.incarnation] + ([born] if born else []))
    candidates = [name for name, _ in names.most_common()]
    if entries and entries[0].version == 1:
        proving = [each for each in candidates if check_chain(entries[:1], each, {})[0].proof is Proof.SOUND]
        candidates = proving + candidates
    found.incarnation = candidates[0] if candidates else None
    if not born:
        found.damage.append("its metadata is missing" if not found.stored.meta else "its metadata names no incarnation")
    elif found.incarnation != born:
        found.damage.append(f"its metadata names the incarnation {born}; its log or its snapshots are of another one")
    for each in sound:
        if each.incarnation != found.incarnation and not each.is_aside:
            found.damage.append(f"snapshot {each.version:,}: it belongs to another incarnation")
    return bool(candidates) and (names[candidates[0]] > 1 or candidates[0] != born)


async def _kept(
    found: Assessment, checked: Sequence[CheckedEntry], anchors: Anchors, confirm: Confirm
) -> list[str | None]:
    """Return for each entry why it cannot be kept, or None if it can."""
    kept: list[str | None] = []
    previous = 0
    for each in checked:
        version = each.entry.version
        if each.has_gap_before:
            found.damage.append(f"entries {previous + 1:,} to {version - 1:,} are missing")
        elif kept and version != previous + 1:
            found.damage.append(f"entry {version:,} follows entry {previous:,}: its number was changed")
        is_confirmed = None if each.proof in PROVEN else await confirm(found.incarnation or "", each.entry)
        is_contradicted = not kept and bool(anchors.get(version - 1))
        reason, flaw = _judge(
            each, _unreadable(each.entry.payload), is_confirmed=is_confirmed, is_contradicted=is_contradicted
        )
        if flaw is not None:
            found.damage.append(f"entry {version:,}: {flaw}")
        if is_confirmed and reason is None:
            found.confirmed.append(version)
        if each.proof is Proof.SOUND and reason is not None:
            found.consent = "a newer version of Sluice may be able to read all its events"
        if each.proof is Proof.UNPROVEN and not is_confirmed and reason is None and (kept or is_contradicted):
            found.unproven.append(version)
        kept.append(reason)
        previous = version
    return kept


def _judge(
    each: CheckedEntry, unreadable: str | None, *, is_confirmed: bool | None, is_contradicted: bool
) -> tuple[str | None, str | None]:
    """Return why an entry cannot be kept, and what is wrong with it; None for nothing."""
    if unreadable is not None:
        return unreadable, f"its chain is sound, but {unreadable}" if each.proof is Proof.SOUND else unreadable
    if is_confirmed and each.proof in DISPROVED:
        return None, CONFIRMED
    if is_confirmed is False:
        return Proof.PAYLOAD_CHANGED, Proof.PAYLOAD_CHANGED
    if each.proof in DISPROVED:
        return each.proof, each.proof
    if each.proof is Proof.CHAIN_CHANGED:
        return None, each.proof
    is_flawed = is_contradicted and each.proof is Proof.UNPROVEN and not is_confirmed
    return None, CONTRADICTED if is_flawed else None


def _unreadable(payload: bytes) -> str | None:
    try:
        decode_event(payload)
    except (msgspec.MsgspecError, ValueError, SluiceError) as error:
        return f"it cannot be decoded ({error})"
    return None


def _check_meta(
    found: Assessment, meta: dict[bytes, str], checked: Sequence[CheckedEntry], sound: Sequence[StoredSnapshot]
) -> None:
    """Compare the metadata with the end of the log; note events that are missing there."""
    version, chain = meta[b"version"], meta[b"chain"]
    last = checked[-1].entry.version if checked else max((each.version for each in sound), default=0)
    chains = (
        {checked[-1].chain, checked[-1].entry.chain}
        if checked
        else {each.chain for each in sound if each.version == last}
    )
    found.end_version = last
    if not found.stored.meta:
        return
    is_at_end = chain in chains or (not chains and chain == found.incarnation)
    if not version.isascii() or not version.isdecimal():
        found.damage.append(f"the version in its metadata is {version!r}")
    elif int(version) != last:
        found.damage.append(f"its metadata is at version {int(version):,}, its log at {last:,}")
        if int(version) > last and not is_at_end:
            found.end_version = int(version)
    if not is_at_end and found.end_version == last:
        found.damage.append("the chain in its metadata is not that of its last entry")


def _choose_base(found: Assessment, checked: Sequence[CheckedEntry], sound: Sequence[StoredSnapshot]) -> None:
    """Choose the newest sound snapshot of the log's history; another one only if the log does not reach back."""
    chains = {each.entry.version: each.chain for each in checked if each.chain is not None}
    first = checked[0].entry.version if checked else found.end_version + 1
    agreeing, others = [], []
    for each in sound:
        is_ahead = bool(checked) and each.version > found.end_version
        if is_ahead or chains.get(each.version, each.chain) != each.chain:
            others.append(each)
            if not each.is_aside:
                found.damage.append(f"snapshot {each.version:,} is not of the history that the log has")
        else:
            agreeing.append(each)
    usable = agreeing or (others if first > 1 else [])
    if usable:
        found.base = usable[0]
    elif first > 1:
        found.damage.append("no snapshot is sound, and the log does not reach back to the first event")
        what = f"everything before version {first:,}" if checked else "everything"
        found.consent = f"{what} would be lost, with the settings of the tenant"


def _divide(found: Assessment, checked: Sequence[CheckedEntry], kept: Sequence[str | None]) -> None:
    """Divide the entries into those before the snapshot, those to learn again, and those that are lost."""
    start = found.base.version if found.base else 0
    older = [index for index, each in enumerate(checked) if each.entry.version <= start]
    for index in reversed(older):
        if checked[index].entry.version != start - len(found.before) or kept[index] is not None:
            break
        found.before.append(checked[index].entry)
    found.before.reverse()
    found.only_in_copy = sum(kept[index] is None for index in older) - len(found.before)
    previous = start
    for index in range(len(older), len(checked)):
        each, reason = checked[index], kept[index]
        version = each.entry.version
        if version > previous + 1 and (each.has_gap_before or index == 0):
            found.lost.append(LostEvent(version=previous + 1, until=version - 1, reason="missing"))
        if reason is None:
            found.after.append(each.entry)
        else:
            found.lost.append(_lost(each.entry, reason))
        previous = version
    if found.end_version > previous:
        found.lost.append(LostEvent(version=previous + 1, until=found.end_version, reason="missing"))


def _lost(entry: Entry, reason: str) -> LostEvent:
    """Describe a lost event as far as it can be read; what was changed may be any of this."""
    version = entry.version
    try:
        record = decode_record(entry.payload)
    except (msgspec.MsgspecError, ValueError):
        return LostEvent(version=version, until=version, reason=reason)
    if not isinstance(record, FeedbackRecord):
        return LostEvent(
            version=version, until=version, reason=reason, kind="settings", at_milliseconds=record.at_milliseconds
        )
    return LostEvent(
        version=version,
        until=version,
        reason=reason,
        kind="label",
        label=record.label,
        moderator=record.moderator,
        at_milliseconds=record.at_milliseconds,
        feedback_id=record.feedback_id,
    )
