"""The last entries that this worker has applied, in case that the store turns out to have lost them."""

from collections import OrderedDict

from app.storage.log import Entry, Position, next_chain

BYTES_KEPT = 32 << 20
OVERHEAD = 400  # of an entry and its place


class Recent:
    """Entries of all tenants, the oldest forgotten first."""

    def __init__(self, bytes_kept: int = BYTES_KEPT) -> None:
        self._bytes_kept = bytes_kept
        self._bytes = 0
        self._entries: OrderedDict[tuple[str, int], Entry] = OrderedDict()

    def remember(self, born: str, entry: Entry) -> None:
        """Keep an entry of the log of this life of a tenant."""
        if replaced := self._entries.pop((born, entry.version), None):
            self._bytes -= _size(replaced)
        self._entries[born, entry.version] = entry
        self._bytes += _size(entry)
        while self._bytes > self._bytes_kept:
            _, gone = self._entries.popitem(last=False)
            self._bytes -= _size(gone)

    def leading_to(self, position: Position) -> list[Entry]:
        """The last entries up to a position, in order, as far back as they are known without a gap or a fork."""
        found: list[Entry] = []
        for version in range(position.version, 0, -1):
            entry = self._entries.get((position.born, version))
            if entry is None or not _precedes(entry, found[-1] if found else None, position):
                break
            found.append(entry)
        return found[::-1]


def _precedes(entry: Entry, following: Entry | None, position: Position) -> bool:
    if following is None:
        return entry.chain == position.chain
    return next_chain(entry.chain, following.payload) == following.chain


def _size(entry: Entry) -> int:
    return len(entry.payload) + OVERHEAD
