"""An e-mail into features."""

from itertools import pairwise

from app.features.email.addresses import receiver_features, sender_features
from app.features.email.dates import date_features
from app.features.email.header_lines import line_features
from app.features.email.headers import Headers
from app.features.email.ignored import without_mark
from app.features.email.links import link_features
from app.features.email.message import read_mail
from app.features.email.parts import contents_of
from app.features.email.received import hop_features
from app.features.extraction import Found
from app.features.words import words_of
from app.learning.example import example_of

MOST_WORDS = 5000
ORIGIN = 2.0  # who a mail is from, how it came here and where it leads to: few features that tell much
OTHER = 1.0
PAIR = 0.5  # two words side by side: many features, most of them rare


def email_features(raw: bytes) -> Found:
    """Return the features of a raw RFC 822 message."""
    mail = read_mail(raw)
    headers = Headers(mail.head, mail.cut)
    contents = contents_of(mail)
    subject = words_of(without_mark(headers.text("subject")))
    body = _first([word for text in contents.texts for word in words_of(text)], mail.cut)
    origin = sender_features(headers) + hop_features(headers) + link_features(contents.links, mail.cut)
    others = line_features(headers) + receiver_features(headers) + date_features(headers) + contents.names
    features = dict.fromkeys(_pairs("subj", subject) + _pairs("body", body), PAIR)
    features |= dict.fromkeys(_prefixed("subj", subject) + _prefixed("body", body) + others, OTHER)
    features |= dict.fromkeys(origin, ORIGIN)
    return Found(example_of(features), tuple(dict.fromkeys(mail.cut)))


def _first(words: list[str], cut: list[str]) -> list[str]:
    if len(words) > MOST_WORDS:
        cut.append(f"only the first {MOST_WORDS:,} of {len(words):,} words were looked at")
    return words[:MOST_WORDS]


def _prefixed(prefix: str, words: list[str]) -> list[str]:
    """Each word with a prefix: by one join, because a long mail has thousands."""
    return f"{prefix}:{f' {prefix}:'.join(dict.fromkeys(words))}".split(" ") if words else []


def _pairs(prefix: str, words: list[str]) -> list[str]:
    return [f"{prefix}:{one} {other}" for one, other in pairwise(words)]
