"""The wording of features of an e-mail that are no words of its subject or body."""

import re

from app.features.reasons.given import wording_of_given
from app.features.reasons.reason import between, plural, quoted

EXACT = {
    "from:no-name": "sender has no name",
    "from:no-address": "sender has no address",
    "replyto:no-address": "reply address is not an address",
    "path:no-address": "return address (Return-Path) is not an address",
    "sender:no-address": "Sender line has no address",
    "replyto:as-from": "replies go to the sender's domain",
    "replyto:not-from": "replies go to another domain than the sender's",
    "path:as-from": "return address (Return-Path) is in the sender's domain",
    "path:not-from": "return address (Return-Path) is in another domain than the sender's",
    "sender:as-from": "Sender line has the sender's domain",
    "sender:not-from": "Sender line has another domain than the sender",
    "msgid:as-from": "message ID has the sender's domain",
    "msgid:not-from": "message ID has another domain than the sender",
    "rcvd:helo:ip": "mail came through a server that gave an IP address as its name",
    "rcvd:helo:no-dot": "mail came through a server that gave a name without a dot",
    "rcvd:helo:other-name": "mail came through a server that gave another name than its own",
    "rcvd:no-name": "mail came through a server without a known name",
    "link:mismatch": "link text differs from target",
    "link:ip": "link goes to an IP address",
    "link:port": "link has a port",
    "link:user": "link has a user name before the host",
    "link:tld:": "link goes to no host",
    "link:host:": "link goes to no host",
    "link:domain:": "link goes to no host",
    "link:shape:": "link has no path",
    "date:missing": "date is missing",
    "date:unreadable": "date cannot be read",
    "date:wrong-weekday": "date names the wrong weekday",
    "date:odd-zone": "date has a time zone that does not exist",
    "date:no-zone": "date has no time zone",
    "date:future": "date is more than an hour after the arrival",
    "date:late": "mail arrived more than a day after its date",
    "date:in-time": "mail arrived within a day of its date",
    "to:no-name": "receivers have no names",
    "att:no-extension": "attachment's name has no extension",
}
QUOTED = {  # the rest of the name follows in quotes
    "from:domain:": "sender's domain is",
    "from:host:": "sender's domain is",
    "from:user:": "sender's address begins with",
    "from:name:": "sender's name contains",
    "replyto:domain:": "replies go to the domain",
    "path:domain:": "return address (Return-Path) is in the domain",
    "sender:domain:": "Sender line has the domain",
    "rcvd:from:": "mail came through a server of",
    "rcvd:known:": "mail came through a server of",
    "rcvd:with:": "mail came by the protocol",
    "link:host:": "link goes to",
    "link:domain:": "link goes to",
    "link:path:": "link's path contains",
    "link:query:": "link's query contains",
    "link:mailto:": "link writes a mail to the domain",
    "mailer:": "mail program is",
    "mime:charset:": "text is in the character set",
    "att:name:": "attachment's name contains",
}
ENDINGS = {
    "from:tld:": "sender's address ends in",
    "path:tld:": "return address (Return-Path) ends in",
    "link:tld:": "link goes to a host that ends in",
}
FORMS = {
    "from:shape:": "sender's address before the @ has the form",
    "link:shape:": "link's path has the form",
    "mime:boundary:": "line between the parts has the form",
    "att:shape:": "attachment's name has the form",
    "date:shape:": "date is written in the form",
}
SERVERS = ("rcvd:from:", "rcvd:known:")
NUMBERS = {  # all but that of servers in steps: 0, 1, 2-3, 4-7...
    "rcvd:hops:": ("mail went through", "server"),
    "link:count:": ("mail has", "link"),
    "to:count:": ("mail has", "receiver"),
    "att:size:": ("attachment has", "byte"),
}
TAGS = {
    "a": "a link", "area": "an image map", "b": "bold text", "big": "large text", "blink": "blinking text",
    "body": "a page body", "br": "line breaks", "center": "centred text", "div": "blocks", "embed": "embedded content",
    "font": "fonts or colours", "form": "a form", "frame": "a frame", "h1": "a large heading", "head": "a page head",
    "hr": "a ruled line", "html": "a whole page", "i": "italic text", "iframe": "an embedded page", "img": "an image",
    "input": "an input field", "li": "a list", "link": "an external style", "map": "an image map",
    "marquee": "moving text", "meta": "page settings", "object": "embedded content", "p": "paragraphs",
    "script": "a script", "small": "small text", "span": "styled text", "strong": "bold text", "style": "a style sheet",
    "table": "a table", "tbody": "a table", "td": "a table", "th": "a table", "title": "a page title", "tr": "a table",
    "u": "underlined text", "ul": "a list", "ol": "a list",
}  # fmt: skip
RUNS = {"A": "A", "a": "abc", "9": "12"}  # how a run of capitals, letters or digits is shown
HOST = re.compile(r"[\w.-]+")
NETWORK = re.compile(r"rcvd:ip:([\d.]+)")
ZONE = re.compile(r"date:zone:(-?\d{1,6})")
NUMBER = re.compile(r"((?:[a-z]+:){2})(\d{1,3})")


def wording_of_header(name: str) -> str:
    """Return the reason for a feature of an e-mail."""
    readers = (EXACT.get, _wording_of_number, _wording_of_prefix, _wording_of_line, _wording_of_part)
    return next((text for read in readers if (text := read(name)) is not None), None) or wording_of_given(name)


def form_of(shape: str) -> str:
    """Return an example of the pattern of an identifier: `a-9.a` is `abc-12.abc`, and `Aa` is `Abc`."""
    return "".join([RUNS.get(each, each) for each in shape]).replace("Aabc", "Abc")


def _wording_of_number(name: str) -> str | None:
    if zone := ZONE.fullmatch(name):
        hours, minutes = divmod(abs(int(zone[1])), 60)
        return f"date has the time zone {'-' if zone[1].startswith('-') else '+'}{hours:02}:{minutes:02}"
    if network := NETWORK.fullmatch(name):
        return f"mail came through a server with an address like {network[1]}{'.x' * (3 - network[1].count('.'))}"
    if (counted := NUMBER.fullmatch(name)) is None:
        return None
    number = counted[2] if counted[1] == "rcvd:hops:" and counted[2] != "0" else _power(int(counted[2]))
    noun = NUMBERS.get(counted[1])
    return f"{noun[0]} {plural(number, noun[1])}" if noun else None


def _wording_of_prefix(name: str) -> str | None:
    if name.startswith("link:scheme:"):
        return f"link begins with {quoted(name[12:] + ':')} instead of a web address"
    for prefix, start in (*QUOTED.items(), *ENDINGS.items(), *FORMS.items()):
        if name.startswith(prefix) and (rest := name[len(prefix) :].strip()):
            if prefix in FORMS:
                return f"{start} {quoted(form_of(rest))}"
            if prefix in SERVERS and not HOST.fullmatch(rest):
                return f"mail came through a server with the odd name {quoted(rest)}"
            return f"{start} {quoted('.' + rest if prefix in ENDINGS else rest)}"
    return None


def _wording_of_line(name: str) -> str | None:
    """Return the reason for a header line."""
    prefix, _, rest = name.partition(":")
    if prefix != "hdr" or not rest:
        return None
    for what in ("missing", "repeated"):
        if rest.startswith(f"{what}:"):
            return f"header line {quoted(rest[len(what) + 1 :])} is {what}"
    first, follows, second = rest.partition(">")
    if follows and ":" not in first:
        return f"header line {quoted(second)} comes right after {quoted(first)}"
    header, has_value, value = rest.partition(":")
    return (
        f"header line {quoted(header)} is {quoted(value)}" if has_value else f"mail has a header line {quoted(header)}"
    )


def _wording_of_part(name: str) -> str | None:
    """Return the reason for the type of a part, an attachment or a tag."""
    prefix, _, rest = name.partition(":")
    if not rest:
        return None
    if prefix == "att":
        return f"attachment ends in {quoted('.' + rest)}{' (two extensions)' if '.' in rest else ''}"
    if prefix == "html":
        return f"HTML has {TAGS.get(rest) or f'the tag {quoted(rest)}'}"
    if prefix != "mime":
        return None
    kind, has_encoding, encoding = rest.partition(":")
    if not has_encoding:
        return f"mail has a part of the type {quoted(kind)}"
    how = "is not encoded" if encoding == "plain" else f"is encoded as {quoted(encoding)}"
    return f"part of the type {quoted(kind)} {how}"


def _power(bits: int) -> str:
    return between(1 << (bits - 1), (1 << bits) - 1) if bits else "no"
