"""Mails of a tar archive in the order of its index or, without one, in a fixed shuffled order.

An archive cannot be read backwards. If the index comes first and the mails follow in its order, nothing is buffered;
mails that come before their turn are spooled until then.
"""

from collections.abc import Iterator

from app.datasets.errors import DatasetError, LineErrors
from app.datasets.mails.labels import (
    LARGEST_INDEX_BYTES,
    chosen_index,
    entries_of_folders,
    entries_of_index,
    is_main_index,
)
from app.datasets.mails.mail import LARGEST_MAIL_BYTES, Entry, Mail
from app.datasets.mails.spool import LARGEST_SPOOL_BYTES, Spool
from app.datasets.mails.tar_members import Member, members
from app.datasets.source import Observer, Source

NO_LABELS = "it has neither an index nor a folder named spam or ham"
SPOOL_NOTICE_BYTES = 1 << 24


class Archive:
    """The mails of one archive."""

    def __init__(
        self, source: Source, errors: LineErrors, observer: Observer, spool_bytes: int = LARGEST_SPOOL_BYTES
    ) -> None:
        self._source, self._errors, self._observer = source, errors, observer
        self._spool_bytes = spool_bytes
        self._too_large: dict[str, int] = {}
        self._noticed = False

    def __iter__(self) -> Iterator[Mail]:
        """Yield each mail once, in order."""
        with Spool(self._source.name, self._spool_bytes) as spool:
            rest = members(self._source)
            first = next(rest, None)
            if first is None:
                raise DatasetError(self._source.name, NO_LABELS)
            if is_main_index(first.path):
                yield from self._by_index(_index_of(first, self._source.name), first.path, rest, spool)
            else:
                self._spool(first, spool)
                yield from self._by_folders(rest, spool)

    def _by_index(self, text: bytes, path: str, rest: Iterator[Member], spool: Spool) -> Iterator[Mail]:
        """Yield each mail in its turn; spool those that come early."""
        entries = entries_of_index(text, path, self._errors)
        wanted = {entry.path for entry in entries}
        turn = 0
        for member in rest:
            if turn < len(entries) and member.path == entries[turn].path and member.size <= LARGEST_MAIL_BYTES:
                yield self._mail(entries[turn], member.read())
                turn += 1
            elif member.path in wanted:
                self._spool(member, spool)
            while turn < len(entries) and entries[turn].path in spool:
                yield self._mail(entries[turn], spool.get(entries[turn].path))
                turn += 1
            if turn == len(entries):
                return
        yield from self._rest(entries[turn:], spool)

    def _by_folders(self, rest: Iterator[Member], spool: Spool) -> Iterator[Mail]:
        """Spool everything: the order is known only at the end."""
        for member in rest:
            self._spool(member, spool)
            self._observer.progress(self._source.consumed, self._source.total)
        index = chosen_index(spool.paths, self._source.name)
        if index is not None:
            entries = entries_of_index(spool.get(index), index, self._errors)
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
            elif not self._errors.record(entry.number, self._missing(entry)):
                return

    def _missing(self, entry: Entry) -> str:
        if entry.path in self._too_large:
            return f"{entry.path!r} has more than {LARGEST_MAIL_BYTES:,} bytes"
        return f"{entry.path!r} is not in the archive"

    def _mail(self, entry: Entry, raw: bytes) -> Mail:
        return Mail(entry.label, raw, self._source.consumed, self._source.total)

    def _spool(self, member: Member, spool: Spool) -> None:
        if member.size > LARGEST_MAIL_BYTES:
            self._too_large[member.path] = member.size
            return
        spool.put(member.path, member.read())
        if spool.bytes > SPOOL_NOTICE_BYTES and not self._noticed:
            self._noticed = True
            self._observer.say(f"{self._source.name}: mails are not in learning order: buffering on disk")


def _index_of(member: Member, name: str) -> bytes:
    if member.size > LARGEST_INDEX_BYTES:
        raise DatasetError(name, f"its index has more than {LARGEST_INDEX_BYTES:,} bytes")
    return member.read()
