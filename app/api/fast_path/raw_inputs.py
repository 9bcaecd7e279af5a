"""Raw inputs (a URL, an e-mail, a text) and their features."""

import asyncio

from app.api.backend import Backend
from app.api.fast_path.http import encode
from app.api.fast_path.inputs import raw_input_of, refuse_size
from app.api.fast_path.messages import Input
from app.features.extraction import Extraction
from app.learning.errors import BadExample
from app.learning.example import Example

INLINE_SIZE = 1 << 16  # characters or bytes; a longer input would block the event loop, so a thread reads it


async def featurize(backend: Backend, item: Input, version: int) -> Extraction:
    """Return the features of a raw input, by a version of the featurizers."""
    kind, raw = raw_input_of(item)
    if len(raw) > INLINE_SIZE:
        found = await asyncio.to_thread(backend.featurize, kind, raw, version)
    else:
        found = backend.featurize(kind, raw, version)
    size = found.example.keys.size
    if not size:
        raise BadExample(f"no features were found in the {kind}")
    if size > backend.limits.max_features_per_example:
        refuse_size(size, backend.limits.max_features_per_example)
    return found


def by_name(example: Example) -> dict[str, float]:
    """Return the features by name, as a client would send them."""
    return dict(zip(example.names, example.values.tolist(), strict=True))


def kept_form(example: Example) -> bytes:
    """Return what is kept of a raw input until its label arrives.

    That is its features, so that exactly what was scored is learnt: the tenant's featurizer may change meanwhile.
    """
    return encode({"features": by_name(example)})
