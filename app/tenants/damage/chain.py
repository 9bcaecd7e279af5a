"""Which entries of a damaged log can be trusted: the chain proves payloads, also across an entry that was changed.

An entry stores its payload and the hash of the chain before it and of that payload. If the two disagree, one of them
was changed, and the next entry tells which: it was hashed behind the true chain. If it follows the computed chain, the
payload is intact; if it follows the stored chain, the payload was changed.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from app.storage.event_log import Entry, next_chain

LOOKAHEAD = 1000  # entries, through which a run of changed chains is followed


class Proof(StrEnum):
    """What the chain says about the payload of an entry."""

    SOUND = "sound"
    CHAIN_CHANGED = "its stored chain was changed; its payload is proven"
    UNPROVEN = "nothing proves it, because the entry before it is missing or changed"
    PAYLOAD_CHANGED = "its payload was changed"
    CHANGED = "its payload or its chain was changed, and no other entry tells which"


class CheckedEntry(msgspec.Struct, frozen=True):
    """An entry, what the chain says about it, and whether entries are missing directly before it."""

    entry: Entry
    proof: Proof
    has_gap_before: bool
    chain: str | None  # the true chain behind it; None if it is not known


Anchors = Mapping[int, set[str]]  # chains by version that others than the log's entries have stored


def check_chain(entries: Sequence[Entry], incarnation: str | None, anchors: Anchors) -> list[CheckedEntry]:
    """Check the entries of a log in order. `incarnation` is None if it is not certain."""
    checked: list[CheckedEntry] = []
    known = incarnation if entries and entries[0].version == 1 else None
    for index, entry in enumerate(entries):
        has_gap = index > 0 and entry.version != entries[index - 1].version + 1
        if has_gap and known is not None and next_chain(known, entry.payload) == entry.chain:
            has_gap = False  # only the numbers have one
        elif has_gap:
            known = None
        proof, known = _check(entries, index, known, anchors)
        checked.append(CheckedEntry(entry, proof, has_gap, known))
    return checked


def _check(entries: Sequence[Entry], index: int, known: str | None, anchors: Anchors) -> tuple[Proof, str | None]:
    """Return what is known of an entry, and the true chain behind it."""
    entry = entries[index]
    starts = {known} if known is not None else anchors.get(entry.version - 1, set())
    computed = {next_chain(start, entry.payload) for start in starts}
    if entry.chain in computed:
        return Proof.SOUND, entry.chain
    for chain in computed:
        if _is_confirmed(chain, entries, index, anchors):
            return Proof.CHAIN_CHANGED, chain
    after = entry.chain if _is_confirmed(entry.chain, entries, index, anchors) else None
    if known is None:  # an anchor alone is no proof against a payload: the anchor may be what was changed
        return Proof.UNPROVEN, after
    return (Proof.CHANGED if after is None else Proof.PAYLOAD_CHANGED), after


def _is_confirmed(chain: str, entries: Sequence[Entry], index: int, anchors: Anchors) -> bool:
    """Whether a later entry was hashed behind this chain, or another place has stored it."""
    version = entries[index].version
    if chain in anchors.get(version, ()):
        return True
    for entry in entries[index + 1 : index + 1 + LOOKAHEAD]:
        if entry.version != version + 1:
            return False
        chain, version = next_chain(chain, entry.payload), entry.version
        if chain == entry.chain or chain in anchors.get(version, ()):
            return True
    return False
