"""Mails of a tar archive in the order of its index or, without one, of a shuffle that is always the same.

An archive cannot be read backwards. Where an index comes first and the mails follow in its order, nothing is kept;
mails that come before their turn are kept aside until it has come.
"""

from collections.abc import Iterator

from app.datasets.errors import DatasetError
from app.datasets.mails.labels import (
    LARGEST_INDEX_BYTES,
    chosen_index,
    entries_of_folders,
    entries_of_index,
    is_surely_the_index,
)
from app.datasets.mails.mail import LARGEST_MAIL_BYTES, Entry, Mail
from app.datasets.mails.spool import LARGEST_SPOOL_BYTES, Spool
from app.datasets.mails.tar_members import Member, members
from app.datasets.observer import Watch
from app.datasets.skipped_lines import Faults
from app.datasets.source import Source

NO_LABELS = "there is neither an index nor a folder named spam or ham in it"
TOLD_AFTER_BYTES = 1 << 24


class Archive:
    """The mails of one archive."""

    def __init__(self, source: Source, faults: Faults, watch: Watch, spool_bytes: int = LARGEST_SPOOL_BYTES) -> None:
        self._source, self._faults, self._watch = source, faults, watch
        self._spool_bytes = spool_bytes
        self._too_large: dict[str, int] = {}
        self._told = False

    def __iter__(self) -> Iterator[Mail]:
        """Yield each mail once, in order."""
        with Spool(self._source.name, self._spool_bytes) as spool:
            found = members(self._source)
            first = next(found, None)
            if first is None:
                raise DatasetError(self._source.name, NO_LABELS)
            if is_surely_the_index(first.path):
                yield from self._by_index(_index_of(first, self._source.name), first.path, found, spool)
            else:
                self._keep(first, spool)
                yield from self._by_folders(found, spool)

    def _by_index(self, text: bytes, path: str, found: Iterator[Member], spool: Spool) -> Iterator[Mail]:
        """Yield mails as they come where it is their turn; keep those aside that come early."""
        entries = entries_of_index(text, path, self._faults)
        wanted = {entry.path for entry in entries}
        turn = 0
        for member in found:
            if turn < len(entries) and member.path == entries[turn].path and member.size <= LARGEST_MAIL_BYTES:
                yield self._mail(entries[turn], member.read())
                turn += 1
            elif member.path in wanted:
                self._keep(member, spool)
            while turn < len(entries) and entries[turn].path in spool:
                yield self._mail(entries[turn], spool.get(entries[turn].path))
                turn += 1
            if turn == len(entries):
                return
        yield from self._rest(entries[turn:], spool)

    def _by_folders(self, found: Iterator[Member], spool: Spool) -> Iterator[Mail]:
        """Keep everything aside: what the order is can only be told at the end."""
        for member in found:
            self._keep(member, spool)
            self._watch.progress(self._source.consumed, self._source.total)
        index = chosen_index(spool.paths, self._source.name)
        if index is not None:
            entries = entries_of_index(spool.get(index), index, self._faults)
        else:
            entries = entries_of_folders([*spool.paths, *self._too_large])
        if index is None and not entries:
            raise DatasetError(self._source.name, NO_LABELS)
        yield from self._rest(entries, spool)

    def _rest(self, entries: list[Entry], spool: Spool) -> Iterator[Mail]:
        done = 0
        for entry in entries:
            if entry.path in spool:
                raw = spool.get(entry.path)
                done += len(raw)
                yield Mail(entry.label, raw, done, spool.bytes)
            elif not self._faults.note(entry.number, self._absence(entry)):
                return

    def _absence(self, entry: Entry) -> str:
        if entry.path in self._too_large:
            return f"{entry.path!r} has more than {LARGEST_MAIL_BYTES:,} bytes"
        return f"{entry.path!r} is not in the archive"

    def _mail(self, entry: Entry, raw: bytes) -> Mail:
        return Mail(entry.label, raw, self._source.consumed, self._source.total)

    def _keep(self, member: Member, spool: Spool) -> None:
        if member.size > LARGEST_MAIL_BYTES:
            self._too_large[member.path] = member.size
            return
        spool.put(member.path, member.read())
        if spool.bytes > TOLD_AFTER_BYTES and not self._told:
            self._told = True
            self._watch.say(f"{self._source.name}: its mails come in another order than they are learnt in: unpacking")


def _index_of(member: Member, name: str) -> bytes:
    if member.size > LARGEST_INDEX_BYTES:
        raise DatasetError(name, f"its index has more than {LARGEST_INDEX_BYTES:,} bytes")
    return member.read()
