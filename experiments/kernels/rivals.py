"""Other libraries that learn the same examples, and one example as a dict, beside river and beside its JSON."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
from river import linear_model, optim
from sklearn.linear_model import SGDClassifier
from vowpalwabbit import Workspace

from app.learning.config import config_of
from app.learning.example import example_of
from app.learning.model import Model
from experiments.kernels.speed import Seconds, best_seconds
from experiments.kernels.zipf import NONZEROS, SEED, Stream, zipf_stream
from experiments.quality.rivals.libraries import CLASSES, csr_matrix, vw_tails
from kernels.arrays import Floats
from kernels.examples.canonical import canonical

VW_DEFAULT = "VW, its default"
VW_FTRL = "VW --ftrl"
VW_OPTIONS: dict[str, list[str]] = {VW_DEFAULT: [], VW_FTRL: ["--ftrl"]}
VW_BITS = "24"  # 2^24 weights, a little more than the features: no two collide
PASSES = 8  # the difference to a single one is what further passes take, without start-up and first touch of memory
SKLEARN = "scikit-learn SGDClassifier"
RIVER = "river FTRL"
RIVER_EXAMPLES = 300
VOCABULARY = 50_000
DICT_EXAMPLES = 500
NAMESPACES = ("token", "host", "path", "header", "sender")
NO_BIAS = np.uint64(0)

DICT_SLUICE = "Sluice, from dict to learnt"
DICT_JSON = "msgspec.json.decode to that dict"
DICT_RIVER = "river FTRL learn_one"

Run = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Cost:
    """Nanoseconds per non-zero, by the clock and of all processor cores together."""

    elapsed: float
    processor: float

    @property
    def cores(self) -> float:
        return self.processor / self.elapsed


@contextmanager
def rivals(stream: Stream) -> Iterator[dict[str, Run]]:
    """Yield runs to be timed, with warm weights as far as the library allows."""
    with TemporaryDirectory() as folder:
        # river learns the first examples only: its model holds their features alone, which is in its favour.
        river = _river(_dicts(stream, str, RIVER_EXAMPLES), stream.labels)
        yield {**_vw(stream, Path(folder)), SKLEARN: _sklearn(stream), RIVER: river}


def costs(seconds: dict[str, Seconds], stream: Stream) -> dict[str, Cost]:
    """Return the cost of each library; of VW also that of a whole first run."""
    found: dict[str, Cost] = {}

    def add(name: str, elapsed: float, processor: float, nonzeros: int) -> None:
        found[name] = Cost(elapsed / nonzeros * 1e9, processor / nonzeros * 1e9)

    for name in VW_OPTIONS:
        once, often = seconds[name], seconds[f"{name}, {PASSES} passes"]
        further = (PASSES - 1) * stream.nonzeros
        add(name, often.elapsed - once.elapsed, often.processor - once.processor, further)
        add(f"{name}, whole first run", once.elapsed, once.processor, stream.nonzeros)
    for name, nonzeros in ((SKLEARN, stream.nonzeros), (RIVER, RIVER_EXAMPLES * NONZEROS)):
        add(name, seconds[name].elapsed, seconds[name].processor, nonzeros)
    return found


def _sklearn(stream: Stream) -> Run:
    """Learn in one call without shuffling: nothing but learning."""
    shape = (stream.labels.size, stream.features)
    examples = csr_matrix((stream.column_values, stream.columns, stream.starts.astype(np.int32)), shape=shape)
    model = SGDClassifier(shuffle=False)
    return lambda: model.partial_fit(examples, stream.labels, classes=CLASSES)


def _river(examples: list[dict[str, float]], labels: Floats) -> Run:
    model = linear_model.LogisticRegression(optimizer=optim.FTRLProximal())

    def learn() -> None:
        for example, label in zip(examples, labels.tolist(), strict=False):  # labels are flipped between rounds
            model.learn_one(example, label > 0.0)

    return learn


def _dicts(stream: Stream, name: Callable[[int], str], examples: int) -> list[dict[str, float]]:
    rows, values = (each.reshape(-1, NONZEROS)[:examples] for each in (stream.columns, stream.column_values))
    pairs = zip(rows.tolist(), values.tolist(), strict=True)
    return [{name(column): value for column, value in zip(*both, strict=True)} for both in pairs]


def _vw(stream: Stream, folder: Path) -> dict[str, Run]:
    text, cache = folder / "stream.vw", folder / "stream.cache"
    tails = vw_tails(stream.starts, stream.columns, stream.column_values)
    text.write_text("".join(f"{label:g}{tail}" for label, tail in zip(stream.labels.tolist(), tails, strict=True)))
    _learn_with_vw(text, cache, [], "creating cache_file")
    runs: dict[str, Run] = {}
    for name, options in VW_OPTIONS.items():
        further = [*options, "--passes", str(PASSES), "--holdout_off"]
        runs[name] = partial(_learn_with_vw, text, cache, options, "ignoring text input in favor of cache input")
        runs[f"{name}, {PASSES} passes"] = partial(_learn_with_vw, text, cache, further, "using cache_file")
    return runs


def _learn_with_vw(text: Path, cache: Path, options: list[str], expected: str) -> None:
    """Read, learn and finish in VW's own C++ loop; its log must name the source of the examples."""
    arguments = ["--data", str(text), "--cache_file", str(cache), "--bit_precision", VW_BITS, "--noconstant", *options]
    workspace = Workspace(arg_list=arguments, enable_logging=True)
    workspace.finish()
    log = "\n".join(workspace.get_log())
    assert expected in log, log


def microseconds_per_example() -> dict[str, float]:
    stream = zipf_stream(VOCABULARY, DICT_EXAMPLES)
    dicts = _dicts(replace(stream, column_values=stream.column_values.round(4)), _names().__getitem__, DICT_EXAMPLES)
    texts = [msgspec.json.encode(features) for features in dicts]
    drawn = np.random.default_rng(SEED).choice([1, -1], DICT_EXAMPLES)
    labels = drawn.tolist()
    pairs = list(zip(dicts, labels, strict=True))
    examples = [example_of(features) for features in dicts]
    model = Model(config_of({}))
    ready = [canonical(example.keys, example.values, model.config.l2, NO_BIAS) for example in examples]
    learn, settings = model.config.algorithm.learn, model.config.settings()

    def learn_ready() -> None:
        for (keys, values), label in zip(ready, labels, strict=True):
            learn(model.memory.rows, model.dense, model.tally, keys, values, float(label), settings)

    candidates: dict[str, Run] = {
        DICT_SLUICE: lambda: [model.learn(example_of(features), label) for features, label in pairs],
        "... of it: hash names, check values": lambda: [example_of(features) for features in dicts],
        "... of it: sort, merge, normalise": lambda: [canonical(e.keys, e.values, True, NO_BIAS) for e in examples],  # noqa: FBT003
        "... of it: look up and learn": learn_ready,
        DICT_JSON: lambda: [msgspec.json.decode(text) for text in texts],
        DICT_RIVER: _river(dicts, drawn),
    }
    best = best_seconds(candidates)
    return {name: seconds.elapsed / DICT_EXAMPLES * 1e6 for name, seconds in best.items()}


def _names() -> list[str]:
    """Draw distinct names of 8 to 20 characters, such as `token:qzvbtk`."""
    rng = np.random.default_rng(SEED)
    names: dict[str, None] = {}
    while len(names) < VOCABULARY:
        space = str(rng.choice(NAMESPACES))
        letters = rng.integers(ord("a"), ord("z") + 1, rng.integers(max(3, 7 - len(space)), 20 - len(space)))
        names[f"{space}:{bytes(letters.tolist()).decode()}"] = None
    return list(names)
