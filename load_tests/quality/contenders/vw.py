"""Vowpal Wabbit in its own C++ loop, whose progressive predictions are those before learning."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from vowpalwabbit import Workspace

from kernels.arrays import Floats
from load_tests.quality.contenders.contender import RARE_WEIGHTS, WEIGHT, Options, Played
from load_tests.quality.stream import Stream

ALPHAS = (1.0, 3.0, 10.0, 30.0)
FTRL_GRID: tuple[Options, ...] = tuple({"ftrl_alpha": alpha, "loss_function": "hinge"} for alpha in ALPHAS)
LEAST_BITS = 18
MICROSECONDS_PER_NONZERO = 0.7  # most of it for writing the text


@dataclass(frozen=True, slots=True)
class VowpalWabbit:
    """Some options, and a grid of others to choose from."""

    name: str
    fixed: tuple[str, ...] = ()
    grid: tuple[Options, ...] = ({},)
    limit: int | None = None
    tuned_on: int | None = None

    def seconds(self, examples: int, nonzeros: int) -> float:
        """About what one setting takes for a stream."""
        return 1e-6 * (MICROSECONDS_PER_NONZERO * nonzeros + 2 * examples)

    def settings(self, *, rare: bool) -> Sequence[Options]:
        """The grid; where anomalies are rare and there is a choice, with a larger weight for them, too."""
        if not rare or len(self.grid) == 1:
            return self.grid
        return [{**options, WEIGHT: weight} for weight, options in product(RARE_WEIGHTS, self.grid)]

    def play(self, stream: Stream, settings: Sequence[Options]) -> list[Played]:
        """Test, then train, over a stream, anew for each of the settings; the text is written once per weight."""
        columns, features = stream.columns()
        bits = max(LEAST_BITS, features.bit_length())  # no two features collide
        with TemporaryDirectory() as folder:
            for weight in {_weight(options) for options in settings}:
                _write(stream, columns.tolist(), weight, _text(Path(folder), weight))
            return [self._played(_text(Path(folder), _weight(options)), bits, options) for options in settings]

    def _played(self, text: Path, bits: int, options: Options) -> Played:
        given = [part for name, value in options.items() if name != WEIGHT for part in (f"--{name}", str(value))]
        return Played(_predictions(text, bits, [*self.fixed, *given]))


def vw_default() -> VowpalWabbit:
    """As it comes: squared loss, adaptive, normalized and invariant steps."""
    return VowpalWabbit("VW, its default")


def vw_ftrl() -> VowpalWabbit:
    """FTRL with hinge loss, the best step of a grid."""
    return VowpalWabbit("VW --ftrl, tuned", ("--ftrl",), FTRL_GRID)


def _weight(options: Options) -> float:
    return float(options.get(WEIGHT, 1.0))


def _text(folder: Path, weight: float) -> Path:
    return folder / f"{weight:g}.vw"


def _write(stream: Stream, columns: list[int], weight: float, path: Path) -> None:
    values, starts = stream.values.tolist(), stream.starts.tolist()
    with path.open("w") as file:
        for i, label in enumerate(stream.labels.tolist()):
            pairs = zip(columns[starts[i] : starts[i + 1]], values[starts[i] : starts[i + 1]], strict=True)
            head = f"1 {weight:g}" if label > 0.0 else "-1"
            file.write(f"{head} | {' '.join([f'{column}:{value:.7g}' for column, value in pairs])}\n")


def _predictions(text: Path, bits: int, options: list[str]) -> Floats:
    predictions = text.with_suffix(".predictions")
    files = ["--data", str(text), "--cache_file", str(text.with_suffix(".cache")), "--predictions", str(predictions)]
    Workspace(arg_list=[*files, "--bit_precision", str(bits), "--quiet", *options]).finish()
    return np.array([float(line.split()[0]) for line in predictions.read_text().splitlines()])
