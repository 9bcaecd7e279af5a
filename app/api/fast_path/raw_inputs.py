"""Raw inputs (a URL, an e-mail, a text) and their features."""

import asyncio

from msgspec import Raw

from app.api.backend import Backend
from app.api.fast_path.http import encode
from app.api.fast_path.inputs import example_from, raw_input_of, refuse_size
from app.api.fast_path.messages import NO_FEATURES, Input
from app.features.extraction import Extraction
from app.learning.errors import BadExample
from app.learning.example import Example, joined

INLINE_SIZE = 1 << 16  # characters or bytes; a longer input would block the event loop, so a thread reads it


async def featurize(backend: Backend, item: Input, version: int) -> Extraction:
    """Return the features of a raw input by a version of the featurizers, behind those that the caller gave with it."""
    kind, raw = raw_input_of(item)
    if len(raw) > INLINE_SIZE:
        found = await asyncio.to_thread(backend.featurize, kind, raw, version)
    else:
        found = backend.featurize(kind, raw, version)
    limits = backend.limits
    if item.features:
        given = example_from(item, limits.max_features_per_example, limits.max_feature_name_bytes)
        found = Extraction(joined(given, found.example), found.cut)
    size = found.example.keys.size
    if not size:
        raise BadExample(f"no features were found in the {kind}")
    if size > limits.max_features_per_example:
        refuse_size(size, limits.max_features_per_example)
    return found


def by_name(example: Example) -> dict[str, float]:
    """Return the features by name, as a client would send them; equal names add up."""
    features: dict[str, float] = {}
    for name, value in zip(example.names, example.values.tolist(), strict=True):
        features[name] = features.get(name, 0.0) + value
    return features


def kept_form(example: Example, features: Raw = NO_FEATURES, *, encodes_numbers: bool = False) -> bytes:
    """Return what is kept of a raw input until its label arrives, with the features that the caller gave beside it.

    That is its features, so that exactly what was scored is learnt: the tenant's featurizer may change meanwhile. Only
    the caller's numbers are encoded, so the features of the raw input have a field of their own.
    """
    found = dict(zip(example.names[example.given :], example.values[example.given :].tolist(), strict=True))
    if features:
        return encode({"features": features, "found": found})
    return encode({"found" if encodes_numbers else "features": found})
