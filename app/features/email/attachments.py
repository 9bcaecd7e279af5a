"""The name of the file that a part of a mail is, and its features."""

import re
from urllib.parse import unquote_to_bytes

from app.features.email.charsets import decoded
from app.features.email.headers import readable
from app.features.email.shapes import shape_of
from app.features.words import words_of

LONGEST_NAME = 100
MOST_WORDS = 10
EXTENSION_LENGTHS = range(2, 6)
# Also in the form of RFC 2231: in several pieces (name*0, name*1), and with a charset and percent signs (name*).
NAME = re.compile(r"""[;\s](?:file)?name(?:\*\d{1,2})?(\*)?\s{0,9}=\s{0,9}(?:"([^"]*)"|([^\s;"]+))""", re.IGNORECASE)


def file_name(header: str) -> str:
    """The file name that a content type or disposition gives, or nothing."""
    pieces = NAME.findall(header)
    name = "".join(quoted or bare for _, quoted, bare in pieces)
    if not pieces or not pieces[0][0]:
        return readable(name)[:LONGEST_NAME].strip()
    charset, _, rest = name.partition("'")
    return decoded(unquote_to_bytes(rest.partition("'")[2]), charset)[:LONGEST_NAME].strip()


def file_features(name: str) -> list[str]:
    """An attachment's extension, also a second one (invoice.pdf.exe), and its name."""
    stem, dot, extension = name.lower().rpartition(".")
    names = [f"att:{extension[:10]}" if dot else "att:no-extension", f"att:shape:{shape_of(name)}"]
    first, dot, second = stem.rpartition(".")
    if first and len(second) in EXTENSION_LENGTHS and second.isalpha():
        names.append(f"att:{second}.{extension[:10]}")
    return names + [f"att:name:{word}" for word in words_of(stem)[:MOST_WORDS]]
