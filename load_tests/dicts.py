"""One example as a Python dict of 100 names: hashed, looked up, learnt; beside river, and beside reading its JSON."""

from collections.abc import Callable

import msgspec
import numpy as np
from river import linear_model, optim

from app.learning.config import config_of
from app.learning.example import example_of
from app.learning.model import Model
from kernels.examples.canonical import canonical
from load_tests.harness.rounds import best_seconds
from load_tests.zipf import NONZEROS, SEED, zipf_stream

VOCABULARY = 50_000
EXAMPLES = 500
NAMESPACES = ("token", "host", "path", "header", "sender")
NO_BIAS = np.uint64(0)

SLUICE = "Sluice, from dict to learnt"
ENCODE = "... of it: hash names, check values"
CANONICAL = "... of it: sort, merge, normalise"
LEARN = "... of it: look up and learn"
JSON = "msgspec.json.decode to that dict"
RIVER = "river FTRL learn_one"


def microseconds_per_example() -> dict[str, float]:
    """The best run over all examples, per example."""
    best = best_seconds(_candidates())
    return {name: seconds.elapsed / EXAMPLES * 1e6 for name, seconds in best.items()}


def _candidates() -> dict[str, Callable[[], object]]:
    texts = _json_texts()
    dicts = [msgspec.json.decode(text) for text in texts]
    labels = np.random.default_rng(SEED).choice([1, -1], EXAMPLES).tolist()
    examples = [example_of(features) for features in dicts]
    model = Model(config_of({}))
    ready = [canonical(example.keys, example.values, model.config.l2, NO_BIAS) for example in examples]
    learn, settings = model.config.algorithm.learn, model.config.settings()
    river = linear_model.LogisticRegression(optimizer=optim.FTRLProximal())
    pairs = list(zip(dicts, labels, strict=True))

    def learn_ready() -> None:
        for (keys, values), label in zip(ready, labels, strict=True):
            learn(model.memory.rows, model.dense, model.tally, keys, values, float(label), settings)

    def learn_with_river() -> None:
        for features, label in pairs:
            river.learn_one(features, label > 0)

    return {
        SLUICE: lambda: [model.learn(example_of(features), label) for features, label in pairs],
        ENCODE: lambda: [example_of(features) for features in dicts],
        CANONICAL: lambda: [canonical(e.keys, e.values, True, NO_BIAS) for e in examples],  # noqa: FBT003
        LEARN: learn_ready,
        JSON: lambda: [msgspec.json.decode(text) for text in texts],
        RIVER: learn_with_river,
    }


def _json_texts() -> list[bytes]:
    names = _names()
    stream = zipf_stream(VOCABULARY, EXAMPLES)
    columns, values = stream.columns.reshape(-1, NONZEROS), stream.column_values.reshape(-1, NONZEROS).round(4)
    return [
        msgspec.json.encode({names[c]: v for c, v in zip(*row, strict=True)})
        for row in zip(columns.tolist(), values.tolist(), strict=True)
    ]


def _names() -> list[str]:
    """Distinct names of 8 to 20 characters, such as `token:qzvbtk`."""
    rng = np.random.default_rng(SEED)
    names: dict[str, None] = {}
    while len(names) < VOCABULARY:
        space = str(rng.choice(NAMESPACES))
        letters = rng.integers(ord("a"), ord("z") + 1, rng.integers(max(3, 7 - len(space)), 20 - len(space)))
        names[f"{space}:{bytes(letters.tolist()).decode()}"] = None
    return list(names)
