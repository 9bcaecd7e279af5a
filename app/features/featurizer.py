"""Raw inputs into features. What a version makes of an input never changes; what is better becomes a new version."""

from typing import Literal, get_args

from app.features.email.email import email_features
from app.features.extraction import Found
from app.features.text import text_features
from app.features.url import url_features

Kind = Literal["url", "email", "text"]
KINDS: tuple[Kind, ...] = get_args(Kind)
VERSIONS = (1,)
NEWEST = VERSIONS[-1]


def features_of(kind: Kind, raw: str | bytes, version: int = NEWEST) -> Found:
    """Turn an input into features by a version of the featurizers; never raises, whatever the input is."""
    assert version in VERSIONS
    if kind == "email":
        return email_features(raw.encode("utf-8", "replace") if isinstance(raw, str) else raw)
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    return url_features(text) if kind == "url" else text_features(text)
