"""`sluice warm`: compile every kernel once and keep the result on disk, in `make setup` and in the image.

Without it, the first call of each kernel compiles it, which takes seconds. Numba compiles for the types of the
arguments, so this command calls what the application calls: it reads, scores, learns, removes and saves a few examples.
"""

import os
import shutil
import tempfile
import time
from argparse import ArgumentParser, Namespace
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import active_children, get_context
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from app.cli.output import console
from app.datasets.reader import read
from app.features.featurizer import KINDS, VERSIONS, features_of
from app.learning.config import Value
from app.learning.events import FeaturesRemoved, FeedbackGiven, Served
from app.learning.example import Example, example_of, example_of_json, examples_of_json
from app.learning.honest.curve import curve_of
from app.learning.replay import advance_all
from app.learning.snapshot.model_file import dump, load
from app.learning.state import TenantState, apply
from app.learning.summary import top_weights
from app.storage.embedded.signals import interrupts_blocked
from app.storage.event_codec import FeedbackRecord, decode, encode, packed_values
from kernels.compiler import cache_folder
from kernels.evaluation.calibration import LEAST_LABELS
from kernels.registry import ALGORITHMS

JSON_SAMPLE = b'{"a": 0.5, "b": 0.12345678901234567}'
SAMPLES = {"sample.libsvm": "1 1:0.5 2:1\n-1 2:1e300 3:1\n", "sample.vw": "1 |a b:0.5 c\n-1 |a b d:0.25\n"}
RAW_SAMPLE = "http://user@www.example.co.uk:80/a/b.html?c=d#e\n\nWin 1,000 now!"  # a URL, a text or a mail
FEATURES = 200  # enough for the table to grow


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = "Compile the kernels for this machine, and keep the result on disk."
    parser.set_defaults(run=warm)


def warm(_: Namespace) -> None:
    """Run the command on all processors."""
    start = time.monotonic()
    print("Compiling the kernels for this machine. This takes about a minute, once.", flush=True)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        try:
            with interrupts_blocked():
                tasks = {pool.submit(_read_samples): "reading"}
                tasks |= {pool.submit(_use_names): "names"}
                tasks |= {pool.submit(_calibrate): "calibration"}
                tasks |= {pool.submit(_encode_numbers): "numbers"}
                tasks |= {pool.submit(_turn_into_features): "featurizers"}
                tasks |= {pool.submit(_use, name): name for name in ALGORITHMS}
            _show_progress(tasks)
        except KeyboardInterrupt:
            for process in active_children():
                process.terminate()  # else the pool would wait until they have compiled what they began
            raise
    _remove_old()
    print(f"The kernels are ready after {time.monotonic() - start:.0f} s.")


def _show_progress(tasks: dict[Future[None], str]) -> None:
    """Show a progress bar on a terminal, otherwise a line per task; raise the first error of a task."""
    screen = console()
    with Progress(
        SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"),
        console=screen, transient=True, disable=not screen.is_terminal,
    ) as bar:  # fmt: skip
        shown = bar.add_task("", total=len(tasks))
        for number, task in enumerate(as_completed(tasks), 1):
            task.result()
            bar.update(shown, advance=1, description=tasks[task])
            if not screen.is_terminal:
                print(f"  {number}/{len(tasks)} {tasks[task]}", flush=True)


def _read_samples() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in SAMPLES.items():
            path = Path(folder) / name
            path.write_text(text)
            for batch in read(path, on_error="skip"):
                TenantState().learn_batch(batch.starts, batch.keys, batch.values, batch.labels, batch.given)


def _turn_into_features() -> None:
    """Featurize every kind of raw input, with every version, as text and as bytes."""
    for kind, version in product(KINDS, VERSIONS):
        for raw in (RAW_SAMPLE, RAW_SAMPLE.encode()):
            example = features_of(kind, raw, version).example
            apply(TenantState(), FeedbackGiven(example, label=1))


def _calibrate() -> None:
    """Learn a threshold, from single labels and from a batch, give a probability, and say what to review."""
    state = TenantState({"threshold": "auto", "review_random": 0.01})
    apply(state, FeedbackGiven(example_of({"a": 1.0}), label=1))
    labels = np.resize([1.0, -1.0], 4 * LEAST_LABELS)
    state.learn_batch(np.arange(labels.size + 1), np.ones(labels.size, np.uint64), np.ones(labels.size), labels)
    assert state.probability(0.0) is not None
    assert state.review_of(0.0, -1)
    assert state.skill
    chosen = FeedbackGiven(example_of({"a": 1.0}), label=1, served=Served(1, 0.5), chosen_with=0.5)
    targets: tuple[dict[str, Value], ...] = ({}, {"target": "precision", "target_value": 0.5})
    for target in targets:
        state.configure(state.config.changed(target))
        apply(state, chosen)
        curve_of(state, 2)


def _use_names() -> None:
    """Learn named examples of a request and of a log, whose arrays may be read-only memory."""
    state = TenantState()
    given = example_of_json(JSON_SAMPLE)
    state.unnamed(given.keys)
    _score_many(state)
    _use_log(given)
    for values in (given.values, np.frombuffer(given.values.tobytes())):
        read = Example(np.frombuffer(given.keys.tobytes(), np.uint64), values, given.names)
        apply(state, FeedbackGiven(read, label=1))
    apply(state, FeedbackGiven(given, label=1))
    restored = load(b"".join(dump(state)))
    apply(restored, FeedbackGiven(example_of({"c": 1.0}), label=1))
    load(b"".join(dump(restored)))


def _encode_numbers() -> None:
    """Score and learn numbers of a request, of a file and of a log, whose arrays may be read-only memory."""
    state = TenantState({"numbers": "encoded"})
    given = example_of_json(JSON_SAMPLE)
    keys, values = np.frombuffer(given.keys.tobytes(), np.uint64), np.frombuffer(given.values.tobytes())
    for example in (given, Example(keys, given.values, given.names, 2), Example(keys, values, given.names, 2)):
        state.predict(example)
        apply(state, FeedbackGiven(example, label=1))
        advance_all(state, [FeedbackGiven(example, label=1)])
    _score_many(state)
    apply(state, FeedbackGiven(example_of({f"f{i}": 2.0 + i for i in range(FEATURES)}), label=-1))
    top_weights(load(b"".join(dump(state))), 10)


def _use(algorithm: str) -> None:
    """Call everything that a model of this algorithm can do."""
    state = TenantState({"algorithm": algorithm})
    example = example_of({f"f{i}": 1.0 for i in range(FEATURES)})
    apply(state, FeedbackGiven(example, label=1))
    state.predict(example)
    _score_many(state)
    advance_all(state, [FeedbackGiven(example, label=-1)])
    apply(state, FeaturesRemoved(weight_at_most=0.0, evidence_at_most=0.0))
    load(b"".join(dump(state)))


def _use_log(example: Example) -> None:
    """Encode and decode events with values in each form that a log stores."""
    for values in (example.values, np.full(example.keys.size, 0.5), np.ones(example.keys.size)):
        decode(encode(FeedbackRecord(0, 1, example.keys.tobytes(), packed_values(values))))


def _score_many(state: TenantState) -> None:
    examples = examples_of_json([JSON_SAMPLE])
    assert examples is not None
    state.predict_all(examples)


def _remove_old() -> None:
    """Remove compiled kernels of other sources, which are never read again."""
    current = cache_folder()
    for folder in current.parent.glob("kernels-*"):
        if folder != current:
            shutil.rmtree(folder, ignore_errors=True)
