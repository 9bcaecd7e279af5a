"""The warm-up of a worker: the compiled kernels are loaded before the first request needs them."""

import gc
import json
from typing import Final

from app.features.featurizer import KINDS, features_of
from app.learning.config import NUMBERS
from app.learning.example import example_of_json, examples_of_json
from app.learning.state import TenantState, advance
from app.storage.event_codec import LongFeedbackRecord, decode, encode, packed_values

FEATURES: Final = 200  # so many that the table grows


def warm_up() -> None:
    """Predict and learn once in every way, and exclude what is loaded from garbage collection."""
    features = {f"f{number}": number for number in range(FEATURES)}
    example = example_of_json(json.dumps(features).encode())
    fields = (0, 1, example.keys.tobytes(), packed_values(example.values))
    for numbers in NUMBERS:
        state = TenantState({"numbers": numbers})
        state.predict(example)
        if (examples := examples_of_json([b'{"f1": 0.5}'])) is not None:
            state.predict_all(examples)
        advance(state, decode(encode(LongFeedbackRecord(*fields, given=example.given))))
    for kind in KINDS:
        TenantState().predict(features_of(kind, "a.b").example)
    gc.collect()
    gc.freeze()  # what is loaded now stays; scanning it again would stop all requests for 60 ms and more
