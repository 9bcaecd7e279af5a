"""After `sluice warm`, nothing that the service does compiles a kernel."""

import subprocess
import sys

USE_EVERYTHING = """
import numpy as np
from app.learning.events import FeaturesRemoved, FeedbackGiven, Served, TenantConfigured
from app.learning.example import Example, example_of, example_of_json, examples_of_json
from app.learning.snapshot.state_copy import copy_state, allocate_for
from app.learning.snapshot.model_file import decode, encode
from app.learning.replay import advance_all
from app.learning.state import TenantState, advance
from app.storage.event_codec import FeedbackRecord, decode as decode_event, encode as encode_event, packed_values

from app.learning.summary import top_weights
from app.storage.event_codec import LongFeedbackRecord

state = TenantState()
text = b'{"a": 1, "%s": 0.1234567890123456}'
for kind in (bytes, bytearray, memoryview):
    for number in range(40):
        example = example_of_json(kind(text % (b"name %d" % number)))
        state.predict(example), state.model.score(example), state.unnamed(example.keys)
        advance(state, FeedbackGiven(example, 1, Served(1, 0.5)))
state.predict_all(examples_of_json([text, b'{"b":2}', memoryview(b'{"c":0.5}')]))
for values in (example.values, np.array([0.5, 2.0]), np.ones(2)):
    record = FeedbackRecord(0, 1, example.keys.tobytes(), packed_values(values))
    advance(state, decode_event(encode_event(record)))
for values in (example.values, np.frombuffer(example.values.tobytes())):
    read = Example(np.frombuffer(example.keys.tobytes(), np.uint64), values, ["", "x"])
    state.unnamed(read.keys), state.predict(read)
    advance(state, FeedbackGiven(read, -1))
advance_all(state, [FeedbackGiven(read, -1), FeaturesRemoved(0.0, 0.0), FeedbackGiven(example, 1)])
advance(state, TenantConfigured({"bias": True}))
restored = decode(*encode(copy_state(state, room=allocate_for(state))))
advance_all(restored, [FeedbackGiven(example_of({f"f{i}": 1.0}), 1) for i in range(100)])
decode(*encode(copy_state(restored)))
encoding = TenantState({"numbers": "encoded"})
for kind in (bytes, bytearray):
    example = example_of_json(kind(text % b"name"))
    encoding.predict(example), encoding.model.explain(example)
    advance(encoding, FeedbackGiven(example, 1))
for values in (example.values, np.array([0.5, 2.0]), np.ones(2)):
    record = LongFeedbackRecord(0, 1, example.keys.tobytes(), packed_values(values), given=2)
    event = decode_event(encode_event(record))
    encoding.predict(event.example)
    advance(encoding, event)
    advance_all(encoding, [event, event])
encoding.predict_all(examples_of_json([text, b'{"b":2}', memoryview(b'{"c":0.5}')]))
advance_all(encoding, [FeedbackGiven(example_of({f"f{i}": 1.0 + i}), 1) for i in range(100)])
decode(*encode(copy_state(encoding))), encoding.digest, top_weights(encoding, 5)
reviewed = TenantState({"threshold": "auto", "review_random": 0.01})
advance_all(reviewed, [FeedbackGiven(example_of({"a": 1.0}), label, chosen_with=0.5) for label in (1, -1)])
advance(reviewed, FeedbackGiven(example_of({"a": 1.0}), 1, chosen_with=0.5))
reviewed.review_of(0.5, 1), reviewed.probability(0.5)
list(restored.names), restored.model.survey(), restored.digest
"""


COMPILED = """
import sys
from numba.core.dispatcher import Dispatcher
kernels = [module for name, module in sys.modules.items() if name.startswith("kernels.")]
found = {function for module in kernels for function in vars(module).values() if isinstance(function, Dispatcher)}
print(*sorted(function.__name__ for function in found if function.stats.cache_misses))
"""


def test_a_warm_service_compiles_nothing() -> None:
    run("-m", "app", "warm")
    assert run("-c", USE_EVERYTHING + COMPILED).split() == []


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
