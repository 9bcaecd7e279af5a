"""The stored snapshots of a tenant: which of them are sound."""

import hashlib
from dataclasses import dataclass, replace

from app.learning.errors import BadSnapshot
from app.learning.snapshot.model_file import HASH_BYTES, decode, read_header
from app.learning.state import TenantState
from app.storage.stored_tenant import StoredTenant


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A stored snapshot; `flaw` says why it cannot be used."""

    version: int
    incarnation: str = ""
    chain: str = ""
    header: bytes = b""
    is_aside: bool = False
    flaw: str | None = None


def stored_snapshots(stored: StoredTenant) -> list[StoredSnapshot]:
    """Check all snapshots, also those set aside: damage of the log can make a sound snapshot look foreign."""
    found = [_snapshot(name, header, stored) for name, header in stored.headers.items()]
    for name, header in stored.aside.items():
        if stored.headers.get(name) != header:
            found.append(replace(_snapshot(name, header, stored), is_aside=True))
    return sorted(found, key=lambda each: each.version, reverse=True)


def _snapshot(name: bytes, header: bytes, stored: StoredTenant) -> StoredSnapshot:
    try:
        read = read_header(header)
        state_of(header, stored)
    except BadSnapshot as error:
        return StoredSnapshot(int(name) if name.isdigit() else 0, header=header, flaw=str(error))
    flaw = None if name == b"%d" % read.version else f"it is stored as snapshot {name.decode(errors='replace')}"
    return StoredSnapshot(read.version, read.extra.get("born", ""), read.extra.get("chain", ""), header, flaw=flaw)


def state_of(header: bytes, stored: StoredTenant) -> TenantState:
    """Return the state of a snapshot; BadSnapshot if it is damaged."""
    missing = [each for each in read_header(header).chunks if each.hash.encode() not in stored.chunks]
    if missing:
        raise BadSnapshot(f"{len(missing)} of its chunks are missing")
    return decode(header, lambda chunk: stored.chunks[chunk.hash.encode()])


def bad_chunks(stored: StoredTenant) -> list[str]:
    """Return the hashes under which other data is stored: a new snapshot must not rely on these chunks."""
    chunks = {name.decode(errors="replace"): data for name, data in stored.chunks.items()}
    return [name for name, data in chunks.items() if name != _hash(data)]


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=HASH_BYTES).hexdigest()
