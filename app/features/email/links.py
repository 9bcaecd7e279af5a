"""The links of a mail: their targets, and whether the link text names another host."""

import re

from app.features.email.origin import IP
from app.features.tokens import domain_of, shape_of

MOST_LINKS = 100
LONGEST_LINK = 500
LONGEST_HOST = 100
MOST_WORDS = 10  # of a link's path
LINK = re.compile(r"[hHwW](?:[tT]{2}[pP][sS]?://|[wW]{2}\.)[^\s<>\"'()\[\]]{1,500}")  # faster than with IGNORECASE
WORD = re.compile(r"[^\W_]{1,30}")
HOST_LIKE = re.compile(r"\s*(?:https?://)?((?:[a-z0-9-]{1,63}\.){1,5}[a-z]{2,10})(?:[/:?\s]|$)", re.IGNORECASE)

Link = tuple[str, str]  # the target and the link text


def find_links(text: str) -> list[Link]:
    """Find the links in plain text."""
    return [(target, "") for target in LINK.findall(text)]


def link_features(links: list[Link], cut: list[str]) -> list[str]:
    """Return the features of all links together."""
    if len(links) > MOST_LINKS:
        cut.append(f"only the first {MOST_LINKS} of {len(links):,} links are used")
    names = [f"link:count:{len(links).bit_length()}"]  # in steps: 0, 1, 2-3, 4-7...
    for link in dict.fromkeys(links[:MOST_LINKS]):
        names += _link(*link)
    return names


def _link(target: str, text: str) -> list[str]:
    short = "".join(target[:LONGEST_LINK].split())  # browsers skip line breaks in a link
    scheme, colon, rest = short.partition(":")
    if not colon or scheme.startswith("www."):
        scheme, rest = "http", short
    if scheme.lower() not in {"http", "https"}:
        return _other_scheme(scheme.lower()[:10], rest)
    address, _, query = rest.lstrip("/").partition("?")
    authority, _, path = address.partition("/")
    host = authority.rpartition("@")[2].partition(":")[0][:LONGEST_HOST].lower()
    named = HOST_LIKE.match(text[:LONGEST_LINK])
    mismatch = ["link:mismatch"] if named and domain_of(named[1]) != domain_of(host) else []
    return [*_host(host), *_oddities(authority), *_path(path.lower(), query.lower()), *mismatch]


def _host(host: str) -> list[str]:
    if IP.fullmatch(host):
        return ["link:ip"]
    return [f"link:host:{host}", f"link:domain:{domain_of(host)}", f"link:tld:{host.rpartition('.')[2]}"]


def _oddities(authority: str) -> list[str]:
    marks = {"link:user": "@", "link:port": ":"}
    return [name for name, mark in marks.items() if mark in authority]


def _path(path: str, query: str) -> list[str]:
    names = [f"link:path:{word}" for word in WORD.findall(path)[:MOST_WORDS]]
    names += [f"link:query:{word}" for word in WORD.findall(query)[:MOST_WORDS]]
    return [*names, f"link:shape:{shape_of(path)}"]


def _other_scheme(scheme: str, rest: str) -> list[str]:
    names = [f"link:scheme:{scheme}"]
    if scheme == "mailto":
        names.append(f"link:mailto:{domain_of(rest.partition('?')[0].rpartition('@')[2][:LONGEST_HOST])}")
    return names
