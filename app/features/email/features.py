"""The features of an e-mail; the other modules of this folder extract its parts."""

from itertools import pairwise

from app.features.email.header_features import date_features, line_features
from app.features.email.headers import Headers
from app.features.email.ignored import strip_mark
from app.features.email.links import link_features
from app.features.email.message import parse_mail
from app.features.email.origin import hop_features, receiver_features, sender_features
from app.features.email.parts import read_parts
from app.features.extraction import Extraction
from app.features.tokens import words_of
from app.learning.example import example_of

MOST_WORDS = 5000
ORIGIN = 2.0  # senders, hops and links: few features with much information
OTHER = 1.0
PAIR = 0.5  # two adjacent words: many features, most of them rare


def email_features(raw: bytes) -> Extraction:
    """Return the features of a raw RFC 822 message."""
    mail = parse_mail(raw)
    headers = Headers(mail.head, mail.cut)
    contents = read_parts(mail)
    subject = words_of(strip_mark(headers.text("subject")))
    body = _first([word for text in contents.texts for word in words_of(text)], mail.cut)
    origin = sender_features(headers) + hop_features(headers) + link_features(contents.links, mail.cut)
    others = line_features(headers) + receiver_features(headers) + date_features(headers) + contents.names
    features = dict.fromkeys(_pairs("subj", subject) + _pairs("body", body), PAIR)
    features |= dict.fromkeys(_prefixed("subj", subject) + _prefixed("body", body) + others, OTHER)
    features |= dict.fromkeys(origin, ORIGIN)
    return Extraction(example_of(features, is_given=False), tuple(dict.fromkeys(mail.cut)))


def _first(words: list[str], cut: list[str]) -> list[str]:
    if len(words) > MOST_WORDS:
        cut.append(f"only the first {MOST_WORDS:,} of {len(words):,} words are used")
    return words[:MOST_WORDS]


def _prefixed(prefix: str, words: list[str]) -> list[str]:
    """Prefix each word, by one join: a long mail has thousands."""
    return f"{prefix}:{f' {prefix}:'.join(dict.fromkeys(words))}".split(" ") if words else []


def _pairs(prefix: str, words: list[str]) -> list[str]:
    return [f"{prefix}:{one} {other}" for one, other in pairwise(words)]
