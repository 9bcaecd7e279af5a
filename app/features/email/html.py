"""HTML into what its reader sees, and the links and tags in it."""

import re

import msgspec
from selectolax.lexbor import LexborHTMLParser

from app.features.email.links import Link

MOST_TAGS = 5000  # some combinations of tags take any HTML parser quadratic time
BREAKING = re.compile(
    r"<(?=/?(?:p|div|br|hr|t[dhr]|table|li|[uo]l|d[dtl]|h[1-6]|option|center|title|body)\b)", re.IGNORECASE
)
TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9]{0,11})(?=[\s/>])")
UNSEEN = ["style", "script", "noscript", "template"]


class Seen(msgspec.Struct, frozen=True):
    """The visible text, the links with the text that is shown for them (images have none), and the tags."""

    text: str
    links: list[Link]
    tags: list[str]


def seen_of(html: str, cut: list[str]) -> Seen:
    """Read HTML as a browser would. Words end at the tags that break a line, not at those within it."""
    pieces = html.split("<", MOST_TAGS + 1)
    if len(pieces) > MOST_TAGS + 1:
        cut.append(f"only the first {MOST_TAGS:,} tags of an HTML text were looked at")
        html = "<".join(pieces[:-1])
    tree = LexborHTMLParser(BREAKING.sub(" <", html))
    links = [(node.attributes.get("href") or "", node.text()) for node in tree.css("a[href],area[href]")]
    links += [(node.attributes.get("src") or "", "") for node in tree.css("img[src]")]
    tree.strip_tags(UNSEEN)
    text = "" if tree.root is None else tree.root.text()
    return Seen(text, links, list(dict.fromkeys(map(str.lower, TAG.findall(html)))))
