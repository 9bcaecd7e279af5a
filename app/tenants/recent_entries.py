"""The last entries that this worker has applied, in case that the store turns out to have lost them."""

from collections import OrderedDict

from app.storage.event_log import Entry, Position, next_chain

BYTES_KEPT = 32 << 20
OVERHEAD = 400  # of an entry and its place


class Recent:
    """Entries of all tenants, the oldest forgotten first."""

    def __init__(self, bytes_kept: int = BYTES_KEPT) -> None:
        self._bytes_kept = bytes_kept
        self._bytes = 0
        self._entries: OrderedDict[tuple[str, int], Entry] = OrderedDict()
        self._versions: dict[str, set[int]] = {}  # so that forgetting one life does not look through all

    def remember(self, born: str, entry: Entry) -> None:
        """Keep an entry of the log of this life of a tenant."""
        self._drop(born, entry.version)
        self._entries[born, entry.version] = entry
        self._versions.setdefault(born, set()).add(entry.version)
        self._bytes += _size(entry)
        while self._bytes > self._bytes_kept:
            self._drop(*next(iter(self._entries)))

    def has(self, position: Position) -> bool:
        """Whether the entry that led to a position is known, and led just there."""
        entry = self._entries.get((position.born, position.version))
        return entry is not None and entry.chain == position.chain

    def forget(self, born: str) -> None:
        """Of this life of a tenant, which goes on from another history than the one that was applied here."""
        for version in list(self._versions.get(born, ())):
            self._drop(born, version)

    def leading_to(self, position: Position) -> list[Entry]:
        """The last entries up to a position, in order, as far back as they are known without a gap or a fork."""
        found: list[Entry] = []
        for version in range(position.version, 0, -1):
            entry = self._entries.get((position.born, version))
            if entry is None or not _precedes(entry, found[-1] if found else None, position):
                break
            found.append(entry)
        return found[::-1]

    def _drop(self, born: str, version: int) -> None:
        entry = self._entries.pop((born, version), None)
        if entry is None:
            return
        self._bytes -= _size(entry)
        versions = self._versions[born]
        versions.remove(version)
        if not versions:
            del self._versions[born]


def _precedes(entry: Entry, following: Entry | None, position: Position) -> bool:
    if following is None:
        return entry.chain == position.chain
    return next_chain(entry.chain, following.payload) == following.chain


def _size(entry: Entry) -> int:
    return len(entry.payload) + OVERHEAD
