"""The parts of a mail: features of their types, encodings and file names, and the texts and links to read."""

import re
from urllib.parse import unquote_to_bytes

import msgspec

from app.features.email.charsets import decode
from app.features.email.headers import decode_words
from app.features.email.html import render
from app.features.email.ignored import is_report
from app.features.email.links import Link, find_links
from app.features.email.message import Mail, Part, parameter_of
from app.features.tokens import shape_of, words_of

LONGEST_TEXT = 100_000  # bytes of one part
LONGEST_TEXTS = 200_000  # characters of all parts together
LONGEST_MIME_TYPE = 40
NOT_TEXT = ("image/", "application/", "audio/", "video/", "font/", "model/")
LONGEST_FILE_NAME = 100
MOST_NAME_WORDS = 10
EXTENSION_LENGTHS = range(2, 6)
# Including the forms of RFC 2231: in several pieces (name*0, name*1), and with a charset and percent signs (name*).
FILE_NAME = re.compile(
    r"""[;\s](?:file)?name(?:\*\d{1,2})?(\*)?\s{0,9}=\s{0,9}(?:"([^"]*)"|([^\s;"]+))""", re.IGNORECASE
)


class Contents(msgspec.Struct, frozen=True):
    """The texts, links and feature names of all parts."""

    texts: list[str]
    links: list[Link]
    names: list[str]


def read_parts(mail: Mail) -> Contents:
    """Read the parts in order."""
    contents = Contents([], [], [])
    for content_type in mail.multiparts:
        boundary = parameter_of(content_type, "boundary")
        contents.names.append(f"mime:{_mime_type(content_type)}")
        contents.names.extend([f"mime:boundary:{shape_of(boundary)}"] if boundary else [])
    room = LONGEST_TEXTS
    for part in mail.parts:
        contents.names.extend(_part_features(part))
        if part.mime_type.startswith(NOT_TEXT):
            contents.names.append(f"att:size:{len(part.content).bit_length()}")  # in steps of a factor of two
        elif room > 0:
            room -= _read_text(part, contents, mail.cut)
        elif part.content:
            mail.cut.append(f"only the first {LONGEST_TEXTS:,} characters of the texts are used")
    return contents


def file_name(header: str) -> str:
    """Return the file name in a content type or disposition, or an empty string."""
    pieces = FILE_NAME.findall(header)
    name = "".join(quoted or bare for _, quoted, bare in pieces)
    if not pieces or not pieces[0][0]:
        return decode_words(name)[:LONGEST_FILE_NAME].strip()
    charset, _, rest = name.partition("'")
    return decode(unquote_to_bytes(rest.partition("'")[2]), charset)[:LONGEST_FILE_NAME].strip()


def file_features(name: str) -> list[str]:
    """Return features of an attachment's extension, a second extension (invoice.pdf.exe), and its name."""
    stem, dot, extension = name.lower().rpartition(".")
    names = [f"att:{extension[:10]}" if dot else "att:no-extension", f"att:shape:{shape_of(name)}"]
    first, dot, second = stem.rpartition(".")
    if first and len(second) in EXTENSION_LENGTHS and second.isalpha():
        names.append(f"att:{second}.{extension[:10]}")
    return names + [f"att:name:{word}" for word in words_of(stem)[:MOST_NAME_WORDS]]


def _read_text(part: Part, contents: Contents, cut: list[str]) -> int:
    """Add the text and links of a part; return the length of the text."""
    raw = part.decode(3 * LONGEST_TEXT)  # quoted-printable may use three bytes for one
    if len(raw) > LONGEST_TEXT:
        cut.append(f"only the first {LONGEST_TEXT:,} bytes of a text are used")
    text = decode(raw[:LONGEST_TEXT], part.parameter("charset"))
    if is_report(text):
        return 0
    if part.mime_type == "text/html":
        page = render(text, cut)
        text = page.text
        contents.links.extend(page.links)
        contents.names.extend([f"html:{tag}" for tag in page.tags])
    else:
        contents.links.extend(find_links(text))
    contents.texts.append(text)
    return len(text)


def _part_features(part: Part) -> list[str]:
    mime_type, charset = _mime_type(part.mime_type), part.parameter("charset").lower()[:LONGEST_MIME_TYPE]
    names = [f"mime:{mime_type}", f"mime:{mime_type}:{part.encoding[:LONGEST_MIME_TYPE] or 'plain'}"]
    if charset:
        names.append(f"mime:charset:{charset}")
    name = file_name(f";{part.disposition}") or file_name(f";{part.content_type}")
    return names + file_features(name) if name else names


def _mime_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()[:LONGEST_MIME_TYPE]
