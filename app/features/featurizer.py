"""Turns raw inputs into features. The features of a version never change; improvements become a new version."""

from typing import Literal, get_args

from app.features.email.features import email_features
from app.features.extraction import Extraction
from app.features.text import text_features
from app.features.url import url_features

Kind = Literal["url", "email", "text"]
KINDS: tuple[Kind, ...] = get_args(Kind)
VERSIONS = (1,)
NEWEST = VERSIONS[-1]


def features_of(kind: Kind, raw: str | bytes, version: int = NEWEST) -> Extraction:
    """Turn an input into features with one version of the featurizer; never raises, whatever the input."""
    assert version in VERSIONS
    if kind == "email":
        return email_features(raw.encode("utf-8", "replace") if isinstance(raw, str) else raw)
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    return url_features(text) if kind == "url" else text_features(text)
