"""The parts of a mail: their types, names and encodings as features, and the texts and links to read."""

import msgspec

from app.features.email.attachments import file_features, file_name
from app.features.email.charsets import decoded
from app.features.email.html import seen_of
from app.features.email.ignored import is_report
from app.features.email.links import Link, links_in
from app.features.email.message import Mail, Part, parameter_of
from app.features.email.shapes import shape_of

LONGEST_TEXT = 100_000  # bytes of one part
LONGEST_TEXTS = 200_000  # characters of all parts together
LONGEST_KIND = 40
NOT_TEXT = ("image/", "application/", "audio/", "video/", "font/", "model/")


class Contents(msgspec.Struct, frozen=True):
    """What the parts hold."""

    texts: list[str]
    links: list[Link]
    names: list[str]


def contents_of(mail: Mail) -> Contents:
    """Look through the parts in order."""
    contents = Contents([], [], [])
    for described in mail.multiparts:
        boundary = parameter_of(described, "boundary")
        contents.names.append(f"mime:{_kind(described)}")
        contents.names.extend([f"mime:boundary:{shape_of(boundary)}"] if boundary else [])
    room = LONGEST_TEXTS
    for part in mail.parts:
        contents.names.extend(_part_features(part))
        if part.kind.startswith(NOT_TEXT):
            contents.names.append(f"att:size:{len(part.content).bit_length()}")  # in steps of a factor of two
        elif room > 0:
            room -= _read(part, contents, mail.cut)
        elif part.content:
            mail.cut.append(f"only the first {LONGEST_TEXTS:,} characters of the texts were looked at")
    return contents


def _read(part: Part, contents: Contents, cut: list[str]) -> int:
    """Take in the text of a part; return its length."""
    raw = part.decoded(3 * LONGEST_TEXT)  # quoted-printable may take three bytes for one
    if len(raw) > LONGEST_TEXT:
        cut.append(f"only the first {LONGEST_TEXT:,} bytes of a text were looked at")
    text = decoded(raw[:LONGEST_TEXT], part.parameter("charset"))
    if is_report(text):
        return 0
    if part.kind == "text/html":
        seen = seen_of(text, cut)
        text = seen.text
        contents.links.extend(seen.links)
        contents.names.extend([f"html:{tag}" for tag in seen.tags])
    else:
        contents.links.extend(links_in(text))
    contents.texts.append(text)
    return len(text)


def _part_features(part: Part) -> list[str]:
    kind, charset = _kind(part.kind), part.parameter("charset").lower()[:LONGEST_KIND]
    names = [f"mime:{kind}", f"mime:{kind}:{part.encoding[:LONGEST_KIND] or 'plain'}"]
    if charset:
        names.append(f"mime:charset:{charset}")
    name = file_name(f";{part.disposition}") or file_name(f";{part.described}")
    return names + file_features(name) if name else names


def _kind(described: str) -> str:
    return described.partition(";")[0].strip().lower()[:LONGEST_KIND]
