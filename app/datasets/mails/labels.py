"""Paths, order and labels of the mails of a corpus, from its index or from folders named spam and ham."""

import posixpath
import re
from collections.abc import Iterable
from hashlib import blake2b

from app.datasets.errors import DatasetError, LineErrors
from app.datasets.mails.mail import Entry
from app.datasets.parsers.lines import parse_label, quote

INDEX = "index"
WHOLE_INDEX = "full/index"  # TREC's corpora have several; this one lists every mail
LARGEST_INDEX_BYTES = 1 << 28
NOT_SPAM = re.compile(r"(?i)\bno[nt]?[-_ ]?spam\b")
CLASS_WORD = re.compile(r"(?i)(?<![a-z])(spam|ham)(?![a-z])")
NOT_MAILS = re.compile(r"\..*|cmds|.*\.json")  # other files in some corpora


def chosen_index(paths: Iterable[str], name: str) -> str | None:
    """Return the path of the index: the only one, or that of the whole corpus; None without an index."""
    found = sorted(path for path in paths if is_index(path))
    whole = [path for path in found if is_main_index(path)]
    if len(found) > 1 and len(whole) != 1:
        raise DatasetError(name, f"it has several files named index: {', '.join(found[:5])}")
    return next(iter(whole or found), None)


def is_index(path: str) -> bool:
    """Whether the file is named index."""
    return posixpath.basename(path) == INDEX


def is_main_index(path: str) -> bool:
    """Whether this index takes precedence over any other."""
    return path == INDEX or f"/{path}".endswith(f"/{WHOLE_INDEX}")


def entries_of_index(text: bytes, index_path: str, errors: LineErrors) -> list[Entry]:
    """Parse lines such as `spam ../data/inmail.1` into entries with paths from the root; record malformed lines."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            entry = _entry(number, line, posixpath.dirname(index_path))
            if isinstance(entry, Entry):
                entries.append(entry)
            elif not errors.record(number, f"{INDEX}: {entry}"):
                break
    return entries


def _entry(number: int, line: bytes, folder: str) -> Entry | str:
    """Parse a line; return the reason if it is malformed."""
    word, *rest = line.split(None, 1)
    if not rest:
        return f"{quote(line)} is not label and path"
    label = parse_label(word)
    if label is None:
        return f"{quote(word)} is not a label (spam, ham, 1, -1 or 0)"
    path = normalise_path(posixpath.join(folder, rest[0].strip().decode("utf-8", "surrogateescape")))
    if path is None:
        return f"{quote(rest[0])} leads out of the corpus"
    return Entry(number, path, label)


def entries_of_folders(paths: Iterable[str]) -> list[Entry]:
    """Return the files in folders named spam and ham, in a fixed shuffled order."""
    labelled = [(path, label) for path in paths if (label := label_of_folder(path)) is not None]
    labelled.sort(key=lambda each: (_order_key(each[0]), each[0]))
    return [Entry(number, path, label) for number, (path, label) in enumerate(labelled, 1)]


def label_of_folder(path: str) -> float | None:
    """Return the label of the nearest folder named after a class; None without such a folder."""
    *folders, file = path.split("/")
    if NOT_MAILS.fullmatch(file):
        return None
    return next((label for folder in reversed(folders) if (label := _label_of_name(folder)) is not None), None)


def normalise_path(path: str) -> str | None:
    """Return the normalised path from the root; None if it leads out of the root."""
    plain = posixpath.normpath(path)
    return None if plain.startswith(("/", "../")) or plain in {".", ".."} else plain


def _label_of_name(folder: str) -> float | None:
    words = set(CLASS_WORD.findall(NOT_SPAM.sub("ham", folder).lower()))
    return parse_label(words.pop().encode()) if len(words) == 1 else None


def _order_key(path: str) -> bytes:
    """Hash the part from the class's folder on: an archive and the folder it came from have the same order."""
    parts = path.split("/")
    first = max(place for place, folder in enumerate(parts[:-1]) if _label_of_name(folder) is not None)
    return blake2b("/".join(parts[first:]).encode("utf-8", "surrogateescape"), digest_size=8).digest()
