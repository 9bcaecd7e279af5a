"""Which mails there are, in which order and with which labels: by an index, or by the folders that they are in."""

import posixpath
import re
from collections.abc import Iterable
from hashlib import blake2b

from app.datasets.errors import DatasetError
from app.datasets.mails.mail import Entry
from app.datasets.parsers.labels import label_of
from app.datasets.parsers.scanner import quoted
from app.datasets.skipped_lines import Faults

INDEX = "index"
WHOLE_INDEX = "full/index"  # TREC's corpora have several: this one names every mail
LARGEST_INDEX_BYTES = 1 << 28
NOT_SPAM = re.compile(r"(?i)\bno[nt]?[-_ ]?spam\b")
CLASS_WORD = re.compile(r"(?i)(?<![a-z])(spam|ham)(?![a-z])")
NO_MAILS = re.compile(r"\..*|cmds|.*\.json")  # files beside the mails of some corpora


def chosen_index(paths: Iterable[str], name: str) -> str | None:
    """Return which of the files is the index: the only one, or that of the whole corpus; None if there is none."""
    found = sorted(path for path in paths if is_index(path))
    whole = [path for path in found if is_surely_the_index(path)]
    if len(found) > 1 and len(whole) != 1:
        raise DatasetError(name, f"there are several files named index: {', '.join(found[:5])}")
    return next(iter(whole or found), None)


def is_index(path: str) -> bool:
    """Whether a file of this name is an index."""
    return posixpath.basename(path) == INDEX


def is_surely_the_index(path: str) -> bool:
    """Whether it is the one that counts, whatever other files there are."""
    return path == INDEX or f"/{path}".endswith(f"/{WHOLE_INDEX}")


def entries_of_index(text: bytes, index_path: str, faults: Faults) -> list[Entry]:
    """Return what the lines `spam ../data/inmail.1` name, with paths from the root; other lines are faults."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            entry = _entry(number, line, posixpath.dirname(index_path))
            if isinstance(entry, Entry):
                entries.append(entry)
            elif not faults.note(number, f"{INDEX}: {entry}"):
                break
    return entries


def _entry(number: int, line: bytes, folder: str) -> Entry | str:
    """What the line names, or what is wrong with it."""
    word, *rest = line.split(None, 1)
    if not rest:
        return f"{quoted(line)} is not label and path"
    label = label_of(word)
    if label is None:
        return f"{quoted(word)} is not a label (spam, ham, 1, -1 or 0)"
    path = normal(posixpath.join(folder, rest[0].strip().decode("utf-8", "surrogateescape")))
    if path is None:
        return f"{quoted(rest[0])} leads out of what was given"
    return Entry(number, path, label)


def entries_of_folders(paths: Iterable[str]) -> list[Entry]:
    """Return the files in folders named spam and ham, in an order that mixes them and is always the same."""
    labelled = [(path, label) for path in paths if (label := label_of_folder(path)) is not None]
    labelled.sort(key=lambda each: (_shuffling_hash(each[0]), each[0]))
    return [Entry(number, path, label) for number, (path, label) in enumerate(labelled, 1)]


def label_of_folder(path: str) -> float | None:
    """Return the label that the nearest folder named after a class gives; None if no folder does."""
    *folders, file = path.split("/")
    if NO_MAILS.fullmatch(file):
        return None
    return next((label for folder in reversed(folders) if (label := _label_of_name(folder)) is not None), None)


def normal(path: str) -> str | None:
    """Return the path from the root without detours; None if it leads out of the root."""
    plain = posixpath.normpath(path)
    return None if plain.startswith(("/", "../")) or plain in {".", ".."} else plain


def _label_of_name(folder: str) -> float | None:
    words = set(CLASS_WORD.findall(NOT_SPAM.sub("ham", folder).lower()))
    return label_of(words.pop().encode()) if len(words) == 1 else None


def _shuffling_hash(path: str) -> bytes:
    """Of the part from the class's folder on, so that an archive and the folder it came from have one order."""
    parts = path.split("/")
    first = max(place for place, folder in enumerate(parts[:-1]) if _label_of_name(folder) is not None)
    return blake2b("/".join(parts[first:]).encode("utf-8", "surrogateescape"), digest_size=8).digest()
