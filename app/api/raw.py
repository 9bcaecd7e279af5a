"""Raw inputs on their way to features: a URL, an e-mail, a text."""

import asyncio

from app.api.answers import encode
from app.api.inputs import check_size, raw_asked
from app.api.serving import Serving
from app.api.wire import Input
from app.features.extraction import Extraction
from app.learning.errors import BadExample
from app.learning.example import Example

AT_ONCE = 1 << 16  # characters or bytes; a longer input takes so long that nobody may wait for it


async def found_in(serve: Serving, asked: Input, version: int) -> Extraction:
    """The features of a raw input, by a version of the featurizers."""
    kind, raw = raw_asked(asked)
    if len(raw) > AT_ONCE:
        found = await asyncio.to_thread(serve.featurize, kind, raw, version)
    else:
        found = serve.featurize(kind, raw, version)
    if not found.example.keys.size:
        raise BadExample(f"no features were found in the {kind}: there is nothing to go by")
    check_size(found.example, serve.limits.max_features_per_example)
    return found


def by_name(example: Example) -> dict[str, float]:
    """The features as whoever gave them would write them."""
    return dict(zip(example.names, example.values.tolist(), strict=True))


def kept_form(example: Example) -> bytes:
    """What is kept of a raw input until its label comes.

    Its features, so that what is learnt is what was scored: meanwhile the tenant may have another featurizer.
    """
    return encode({"features": by_name(example)})
