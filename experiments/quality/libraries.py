"""Other libraries and programs as contenders, and the list of all contenders in the order of the tables."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import linear_model, optim
from sklearn.linear_model import SGDClassifier
from vowpalwabbit import Workspace

from experiments.examples import Examples
from experiments.quality.contenders import SPARSE, WEIGHT, Contender, Options, Played, sluice
from kernels.arrays import Floats, Ints

STEPS = (1.0, 3.0, 10.0, 30.0)  # those that river ships with are far too small for examples of length 1
SGD_GRID: tuple[Options, ...] = tuple(
    {"loss": loss, "alpha": a} for loss, a in product(("hinge", "log_loss"), (1e-3, 1e-4, 1e-5))
)
EXACT_EXAMPLES = 2000  # up to so many, scikit-learn learns in single steps
BLOCK = 50
CLASSES = np.array([-1.0, 1.0])
LEAST_BITS = 18
RIVER_LIMIT, RIVER_TUNED_ON = 20_000, 5000
BOGOFILTER = "bogofilter"
MEMORY = Path("/dev/shm")  # noqa: S108 - bogofilter syncs its word list at every mail
NO_WORD_LIST = 3  # bogofilter's exit code before the first mail is registered
UNDECIDED = 0.5

csr_matrix = import_module("scipy.sparse").csr_matrix  # scipy comes with scikit-learn and has no types


def is_installed() -> bool:
    return shutil.which(BOGOFILTER) is not None


def play_vw(fixed: tuple[str, ...], stream: Examples, settings: Sequence[Options]) -> list[Played]:
    """Run Vowpal Wabbit in its own C++ loop, whose progressive predictions are those before learning."""
    columns, features = stream.columns()
    bits = max(LEAST_BITS, features.bit_length())  # no two features collide
    found = []
    with TemporaryDirectory() as folder:
        for options in settings:
            weight = float(options.get(WEIGHT, 1.0))
            text = Path(folder) / f"{weight:g}.vw"  # written once per weight
            if not text.exists():
                write_vw(text, stream.starts, columns, stream.values, stream.labels, weight)
            given = [part for name, value in options.items() if name != WEIGHT for part in (f"--{name}", str(value))]
            output = text.with_suffix(".predictions")
            files = ["--data", str(text), "--cache_file", str(text.with_suffix(".cache")), "--predictions", str(output)]
            Workspace(arg_list=[*files, "--bit_precision", str(bits), "--quiet", *fixed, *given]).finish()
            found.append(Played(np.array([float(line.split()[0]) for line in output.read_text().splitlines()])))
    return found


def write_vw(  # noqa: PLR0913, PLR0917 - a matrix in CSR form has many parts
    path: Path, starts: Ints, columns: NDArray[np.int32], values: Floats, labels: Floats, weight: float = 1.0
) -> None:
    """Write examples as Vowpal Wabbit reads them; `weight` is that of an anomaly."""
    with path.open("w") as file:
        for (first, last), label in zip(pairwise(starts.tolist()), labels.tolist(), strict=True):
            head = f"1 {weight:g}" if label > 0.0 else "-1"
            pairs = zip(columns[first:last].tolist(), values[first:last].tolist(), strict=True)
            file.write(f"{head} | {' '.join([f'{column}:{value:.7g}' for column, value in pairs])}\n")


def play_sgd(stream: Examples, settings: Sequence[Options]) -> list[Played]:
    """Run scikit-learn's SGDClassifier, in blocks on a long stream: each call goes over all weights."""
    slim = stream.without_singletons()
    columns, features = slim.columns()
    matrix = csr_matrix((slim.values, columns, slim.starts), shape=(len(slim), max(features, 1)))
    block = 1 if len(slim) <= EXACT_EXAMPLES else BLOCK
    found = []
    for setting in settings:
        options = dict(setting)
        weight = options.pop(WEIGHT, 1.0)
        model = SGDClassifier(**options, shuffle=False, class_weight={1.0: weight, -1.0: 1.0})
        scores = np.zeros(len(slim))  # nothing is known before the first block
        for start in range(0, len(slim), block):
            some = slice(start, min(start + block, len(slim)))
            if start:
                scores[some] = model.decision_function(matrix[some])
            model.partial_fit(matrix[some], slim.labels[some], classes=CLASSES)
        found.append(Played(scores))
    return found


def play_river(optimizer: Callable[..., Any], stream: Examples, settings: Sequence[Options]) -> list[Played]:
    columns, _ = stream.columns()
    names, values, starts = columns.tolist(), stream.values.tolist(), stream.starts.tolist()
    found = []
    for setting in settings:
        options = dict(setting)
        loss = optim.losses.Log(weight_pos=float(options.pop(WEIGHT, 1.0)))
        model: Any = linear_model.LogisticRegression(optimizer(**options), loss)
        scores = np.empty(len(stream))
        for i, label in enumerate(stream.labels.tolist()):
            some = slice(starts[i], starts[i + 1])
            example = dict(zip(names[some], values[some], strict=True))
            scores[i] = model.predict_proba_one(example)[True] - 0.5
            model.learn_one(example, label > 0.0)
        found.append(Played(scores))
    return found


def play_bogofilter(stream: Examples, settings: Sequence[Options]) -> list[Played]:
    """Run bogofilter under its defaults: a process to test each raw mail, and one to register it after."""
    found = []
    for _ in settings:
        scores = np.zeros(len(stream))
        with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            for i, (raw, label) in enumerate(zip(stream.raws, stream.labels.tolist(), strict=True)):
                for option in ("-T", "-s" if label > 0.0 else "-n"):
                    command = [BOGOFILTER, "-C", option, "-d", folder, "--db-transaction=no"]
                    answer = subprocess.run(command, input=raw, capture_output=True, check=False)  # noqa: S603 - fixed
                    if option == "-T" and answer.returncode != NO_WORD_LIST:
                        scores[i] = float(answer.stdout.split()[1]) - UNDECIDED
        found.append(Played(scores))
    return found


VW_GRID: tuple[Options, ...] = tuple({"ftrl_alpha": alpha, "loss_function": "hinge"} for alpha in STEPS)
RIVER = {"limit": RIVER_LIMIT, "tuned_on": RIVER_TUNED_ON, "microseconds": 300.0}
CONTENDERS = {
    contender.name: contender
    for contender in (
        sluice(),
        sluice(SPARSE, target_sparsity=0.9),
        *(sluice(f"Sluice, {algorithm}", algorithm=algorithm) for algorithm in ("cs-sol", "cs-fsol", "ftrl", "arow")),
        Contender("VW, its default", partial(play_vw, ()), microseconds=60.0),
        Contender("VW --ftrl, tuned", partial(play_vw, ("--ftrl",)), VW_GRID, microseconds=60.0),
        Contender("scikit-learn SGD, tuned", play_sgd, SGD_GRID, tuned_on=20_000, microseconds=100.0),
        *(
            Contender(f"river {name}, tuned", partial(play_river, kind), tuple({step: s} for s in STEPS), **RIVER)  # type: ignore[arg-type]
            for name, kind, step in (("LogisticRegression", optim.SGD, "lr"), ("FTRL", optim.FTRLProximal, "alpha"))
        ),
        Contender("bogofilter, raw mails", play_bogofilter, microseconds=12_000.0, reads_raws=True),
    )
}
