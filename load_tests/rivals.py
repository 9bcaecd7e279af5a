"""Other libraries learning the same examples: Vowpal Wabbit from its cache, scikit-learn, river."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from river import linear_model, optim
from sklearn.linear_model import SGDClassifier
from vowpalwabbit import Workspace

from load_tests.harness.rounds import Seconds
from load_tests.zipf import NONZEROS, Stream

VW_DEFAULT = "VW, its default"
VW_FTRL = "VW --ftrl"
VW_OPTIONS: dict[str, list[str]] = {VW_DEFAULT: [], VW_FTRL: ["--ftrl"]}
VW_BITS = "24"  # 2^24 weights, a little more than the features: no two collide
PASSES = 8  # the difference to a single one is what further passes take, without start-up and first touch of memory
SKLEARN = "scikit-learn SGDClassifier"
RIVER = "river FTRL"
RIVER_EXAMPLES = 300

csr_array = import_module("scipy.sparse").csr_array  # scipy comes with scikit-learn and has no types

Run = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Cost:
    """Nanoseconds per non-zero, by the clock and of all processor cores together."""

    elapsed: float
    processor: float

    @property
    def cores(self) -> float:
        """How many cores it kept busy."""
        return self.processor / self.elapsed


@contextmanager
def rivals(stream: Stream) -> Iterator[dict[str, Run]]:
    """Runs to be timed, all with their weights warm in memory as far as they let us."""
    with TemporaryDirectory() as folder:
        yield {**_vw(stream, Path(folder)), SKLEARN: _sklearn(stream), RIVER: _river(stream)}


def costs(seconds: dict[str, Seconds], stream: Stream) -> dict[str, Cost]:
    """Nanoseconds per non-zero of each library; of VW also those of a single run with all that belongs to it."""
    found: dict[str, Cost] = {}
    for name in VW_OPTIONS:
        once, often = seconds[name], seconds[f"{name}, {PASSES} passes"]
        further = (PASSES - 1) * stream.nonzeros
        found[name] = _cost(often.elapsed - once.elapsed, often.processor - once.processor, further)
        found[f"{name}, whole first run"] = _cost(once.elapsed, once.processor, stream.nonzeros)
    for name, nonzeros in ((SKLEARN, stream.nonzeros), (RIVER, RIVER_EXAMPLES * NONZEROS)):
        found[name] = _cost(seconds[name].elapsed, seconds[name].processor, nonzeros)
    return found


def _cost(elapsed: float, processor: float, nonzeros: int) -> Cost:
    return Cost(elapsed / nonzeros * 1e9, processor / nonzeros * 1e9)


def _dicts(stream: Stream) -> Iterator[dict[str, float]]:
    for at in range(0, stream.nonzeros, NONZEROS):
        columns, values = stream.columns[at : at + NONZEROS], stream.column_values[at : at + NONZEROS]
        yield dict(zip(map(str, columns.tolist()), values.tolist(), strict=True))


def _sklearn(stream: Stream) -> Run:
    """Not shuffled, all in one call: nothing but learning."""
    examples = csr_array(
        (stream.column_values, stream.columns, stream.starts.astype(np.int32)),
        shape=(stream.labels.size, stream.features),
    )
    model = SGDClassifier(shuffle=False)
    return lambda: model.partial_fit(examples, stream.labels, classes=[-1.0, 1.0])


def _river(stream: Stream) -> Run:
    """Only the first examples: its model then holds their features alone, which is in its favour."""
    examples = list(islice(_dicts(stream), RIVER_EXAMPLES))
    model = linear_model.LogisticRegression(optimizer=optim.FTRLProximal())

    def learn() -> None:
        for example, label in zip(examples, stream.labels.tolist(), strict=False):
            model.learn_one(example, label > 0.0)

    return learn


def _vw(stream: Stream, folder: Path) -> dict[str, Run]:
    text, cache = folder / "stream.vw", folder / "stream.cache"
    _write_text(stream, text)
    _learn_with_vw(text, cache, [], "creating cache_file")
    runs: dict[str, Run] = {}
    for name, options in VW_OPTIONS.items():
        further = [*options, "--passes", str(PASSES), "--holdout_off"]
        runs[name] = partial(_learn_with_vw, text, cache, options, "ignoring text input in favor of cache input")
        runs[f"{name}, {PASSES} passes"] = partial(_learn_with_vw, text, cache, further, "using cache_file")
    return runs


def _learn_with_vw(text: Path, cache: Path, options: list[str], expected: str) -> None:
    """Read, learn and finish inside VW's own C++ loop; its log must say where the examples came from."""
    arguments = ["--data", str(text), "--cache_file", str(cache), "--bit_precision", VW_BITS, "--noconstant", *options]
    workspace = Workspace(arg_list=arguments, enable_logging=True)
    workspace.finish()
    log = "\n".join(workspace.get_log())
    assert expected in log, log


def _write_text(stream: Stream, path: Path) -> None:
    with path.open("w") as file:
        for example, label in zip(_dicts(stream), stream.labels.tolist(), strict=True):
            pairs = " ".join(f"{column}:{value:.7g}" for column, value in example.items())
            file.write(f"{label:g} | {pairs}\n")
