"""Renders HTML to the text that a reader sees, with its links and tags."""

import re

import msgspec
from selectolax.lexbor import LexborHTMLParser

from app.features.email.links import Link

MOST_TAGS = 5000  # some combinations of tags take any HTML parser quadratic time
BREAKING = re.compile(
    r"<(?=/?(?:p|div|br|hr|t[dhr]|table|li|[uo]l|d[dtl]|h[1-6]|option|center|title|body)\b)", re.IGNORECASE
)
TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9]{0,11})(?=[\s/>])")
INVISIBLE = ["style", "script", "noscript", "template"]


class Page(msgspec.Struct, frozen=True):
    """The visible text, the links with their link text (empty for images), and the tags."""

    text: str
    links: list[Link]
    tags: list[str]


def render(html: str, cut: list[str]) -> Page:
    """Render HTML as a browser would: block tags end a word, inline tags do not."""
    pieces = html.split("<", MOST_TAGS + 1)
    if len(pieces) > MOST_TAGS + 1:
        cut.append(f"only the first {MOST_TAGS:,} tags of an HTML text are used")
        html = "<".join(pieces[:-1])
    tree = LexborHTMLParser(BREAKING.sub(" <", html))
    links = [(node.attributes.get("href") or "", node.text()) for node in tree.css("a[href],area[href]")]
    links += [(node.attributes.get("src") or "", "") for node in tree.css("img[src]")]
    tree.strip_tags(INVISIBLE)
    text = "" if tree.root is None else tree.root.text()
    return Page(text, links, list(dict.fromkeys(map(str.lower, TAG.findall(html)))))
