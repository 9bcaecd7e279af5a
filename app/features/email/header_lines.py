"""Which header lines a mail has, in which order, and what they say of the program that wrote it."""

from itertools import pairwise

from app.features.email.headers import Headers
from app.features.words import words_of

NEEDED = ("from", "to", "subject", "date", "message-id", "mime-version", "content-type")
ONCE = (*NEEDED, "reply-to", "sender")
USUAL = {*NEEDED, "received", "return-path"}  # what every mail has says nothing
MAILERS = ("x-mailer", "user-agent")
TELLING = (
    *("x-mimeole", "x-priority", "x-msmail-priority", "importance", "precedence", "content-transfer-encoding"),
    *("mime-version", "organization", "list-id", "content-class", "auto-submitted", "x-accept-language"),
)
LONGEST_VALUE = 60
MOST_WORDS = 10


def line_features(headers: Headers) -> list[str]:
    """Lines that are there, missing or repeated; which one follows which; and the mailer."""
    names = [f"hdr:{name}" for name in headers.names if name not in USUAL]
    names += [f"hdr:missing:{name}" for name in NEEDED if not headers.raw(name)]
    names += [f"hdr:repeated:{name}" for name in ONCE if headers.names.count(name) > 1]
    names += [f"hdr:{one}>{other}" for one, other in pairwise(dict.fromkeys(headers.names))]
    return names + _mailer(headers) + _values(headers)


def _mailer(headers: Headers) -> list[str]:
    names = []
    for value in filter(None, map(headers.text, MAILERS)):
        names.append(f"mailer:{_short(value)}")
        names += [f"mailer:{word}" for word in words_of(value)[:MOST_WORDS]]
    return names


def _values(headers: Headers) -> list[str]:
    return [f"hdr:{name}:{_short(headers.text(name))}" for name in TELLING if headers.raw(name)]


def _short(value: str) -> str:
    return " ".join(value.lower().split())[:LONGEST_VALUE]
