"""The wording of features that describe the form of a URL: lengths, counts and properties."""

import re

from app.features.reasons.reason import between, plural

FEW = 4  # smaller numbers are exact, larger ones are the low end of a range: 4 6 8 12 16 24 ...
FLAGS = {
    "is:ip": "host is an IP address",
    "is:userinfo": "user name stands before the host",
    "is:punycode": "host has letters in punycode (xn--)",
    "is:mixed-scripts": "host mixes letters of several scripts",
    "is:double-slash": "path has a double slash",
    "is:folder": "path ends with a slash",
}
LENGTHS = {
    "len:url:": "URL",
    "len:host:": "host",
    "len:name:": "domain name",
    "len:path:": "path",
    "len:query:": "query",
}
COUNTS = {
    "digits:host:": ("host", "digit"),
    "digits:name:": ("domain name", "digit"),
    "digits:path:": ("path", "digit"),
    "hyphens:host:": ("host", "hyphen"),
    "hyphens:path:": ("path", "hyphen"),
    "underscores:path:": ("path", "underscore"),
    "dots:path:": ("path", "dot"),
    "percent:": ("URL", "percent sign"),
    "subs:": ("host", "subdomain"),
    "depth:": ("path", "part"),
    "params:": ("query", "parameter"),
}
NONE = {"len:path:": "no path", "depth:": "no path", "len:query:": "no query", "subs:": "no subdomain"}
EXACT_UP_TO = {"len:name:": 30, "hyphens:host:": 6, "dots:path:": 6, "subs:": 6, "depth:": 12, "params:": 8}
ENTROPIES = {"entropy:name:": "domain name", "entropy:file:": "last part of the path"}
FEW_HALF_BITS, MANY_HALF_BITS = 4, 7  # up to 2 bits a character are few different ones, from 3.5 bits many
KINDS = {
    "a": "letters",
    "d": "digits",
    "ad": "letters and digits",
    ".": "punctuation",
    "a.": "letters and punctuation",
    "d.": "digits and punctuation",
    "ad.": "letters, digits and punctuation",
}
NUMBERED = re.compile(r"([a-z]+:(?:[a-z]+:)?)(\d{1,9})")
SHAPE = re.compile(r"shape:(a?d?\.?)(\d{1,9})")


def wording_of_form(name: str, exact: dict[str, int] | None = None) -> str | None:
    """Return the reason for a feature of a URL's form, with exact numbers where they are known; None for others."""
    if name in FLAGS:
        return FLAGS[name]
    if (shape := SHAPE.fullmatch(name)) and shape[1]:
        return part_of_shape(shape[1], *bounds("", int(shape[2])))
    if numbered := NUMBERED.fullmatch(name):
        return _wording_of_number(numbered[1], int(numbered[2]), exact or {})
    return None


def _wording_of_number(prefix: str, number: int, exact: dict[str, int]) -> str | None:
    if prefix in ENTROPIES:
        return f"{ENTROPIES[prefix]} has {_variety(number)} different characters"
    if number == 0 and prefix in NONE:
        return NONE[prefix]
    low, high = bounds(prefix, number)
    if prefix in exact:
        low = high = exact[prefix]
    shown = f"{low} or more" if high is None else between(low, high)
    if prefix in LENGTHS:
        return f"{LENGTHS[prefix]} is {plural(shown, 'character')} long"
    return f"{COUNTS[prefix][0]} has {plural(shown, COUNTS[prefix][1])}" if prefix in COUNTS else None


def bounds(prefix: str, number: int) -> tuple[int, int | None]:
    """Return the smallest and the largest number that a feature may stand for; None if there is no largest."""
    if prefix in EXACT_UP_TO:
        return number, number if number < EXACT_UP_TO[prefix] else None
    if number < FEW:
        return number, number
    power = 1 << (number.bit_length() - 1)
    return number, number + power // 2 - 1


def part_of_shape(kinds: str, low: int, high: int | None, count: int = 1) -> str:
    """Return the reason for parts of a path that have some kinds of characters, and their length."""
    parts = "a part" if count == 1 else f"{count} parts"
    number = between(low, low if high is None else high)
    what = KINDS[kinds].removesuffix("s") if number == "1" and kinds in {"a", "d"} else KINDS[kinds]
    return f"path has {parts} of {number} {what}"


def step_of(number: int) -> int:
    """Round a number down, as the featurizer does."""
    if number < FEW:
        return number
    power = 1 << (number.bit_length() - 1)
    return power + power // 2 if number >= power + power // 2 else power


def _variety(half_bits: int) -> str:
    if half_bits <= FEW_HALF_BITS:
        return "few"
    return "many" if half_bits >= MANY_HALF_BITS else "some"
