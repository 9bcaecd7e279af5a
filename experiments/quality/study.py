"""Tasks: one contender on one file, at its natural ratio, with rare anomalies, and from a cold start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np

from experiments.examples import Examples, opened, rare
from experiments.preparation import TRAIN
from experiments.quality.contenders import OURS, Contender, Options
from experiments.quality.verdicts import (
    NATURAL,
    POINTS,
    RARE,
    RATIOS,
    Curve,
    Facts,
    Figures,
    Row,
    curve,
    figures,
    mean_curve,
)
from experiments.sets import SOURCES
from experiments.sets.raw import raw_mails
from experiments.tasks import Task
from kernels.arrays import Ints

STUDY = "quality"
PHISHSTORM = "phishstorm"
PDD = "pdd"
PHISHTANK = "phishtank-lobsters"
JPCERT = "jpcert-lobsters"
TREC = "trec07p 1-25,000"
TREC_BEGINNING = "trec07p 1-10,000"
STREAMS = {  # beginnings of each set, with their lengths
    "phishstorm": {PHISHSTORM: 96_018},
    "pdd": {PDD: 54_763},
    "phishtank": {PHISHTANK: 170_338},
    "jpcert": {JPCERT: 121_433},
    "trec07p": {TREC: 25_000, TREC_BEGINNING: 10_000},
}
MAILS = "trec07p"
WITHOUT_COLD_START = "Sluice, "  # other settings of Sluice play the long streams only


@dataclass(frozen=True, slots=True)
class Sizes:
    """Examples of each file at most, seeds of the samples, and cold starts by ratio."""

    examples: int | None
    seeds: tuple[int, ...]
    starts: dict[str, int]  # those at 1:99 share the samples of the seeds


WHOLE = Sizes(None, (1, 2, 3, 4), {NATURAL: 20, RARE: 8})
QUICK = Sizes(5000, (1,), {NATURAL: 4, RARE: 2})


class Outcome(msgspec.Struct, frozen=True):
    """The results of one contender on one file; the facts come with Sluice."""

    rows: list[Row]
    curves: list[Curve]
    facts: list[Facts]


def tasks(sizes: Sizes, folders: Sequence[Path], contenders: Mapping[str, Contender]) -> list[Task]:
    """One task for each set and contender."""
    found = []
    for folder in folders:
        length = min(max(STREAMS[folder.name].values()), sizes.examples or 1 << 62)
        for name, contender in contenders.items():
            if contender.reads_raws and folder.name != MAILS:
                continue
            seconds = contender.seconds(length, rare=False) + contender.seconds(length // 2, rare=True) * len(
                sizes.seeds
            )
            arguments = {"folder": str(folder), "name": name, "seeds": list(sizes.seeds), "starts": sizes.starts}
            found.append(
                Task(STUDY, f"{name} on {folder.name}", seconds, evaluate, {**arguments, "limit": sizes.examples})
            )
    return found


def evaluate(folder: str, name: str, seeds: list[int], starts: dict[str, int], limit: int | None) -> Outcome:
    """Play everything; settings of a cold start are those that were best for the whole stream."""
    from experiments.quality.libraries import CONTENDERS  # noqa: PLC0415 - tests have other contenders

    contender, streams = CONTENDERS[name], STREAMS[Path(folder).name]
    whole = _raws(limit) if contender.reads_raws else opened(Path(folder) / TRAIN).normalised()
    whole = whole.first(max(streams.values()))
    rows = natural(contender, whole, streams)
    chosen = {NATURAL: rows[0].setting}
    for stream, length in streams.items():
        rows.append(play_rare(contender, whole.first(length), stream, seeds))
        chosen.setdefault(RARE, rows[-1].setting)
    curves = []
    if not name.startswith(WITHOUT_COLD_START):
        # bogofilter runs processes for each mail: a cold start at 1:99 takes too long.
        for ratio in (NATURAL,) if contender.reads_raws else RATIOS:
            some = windows(whole, ratio, seeds, starts[ratio])
            curves.append(cold(contender, some, next(iter(streams)), chosen[ratio], ratio))
    facts = [_facts(stream, whole.first(length)) for stream, length in streams.items()] if name == OURS else []
    return Outcome(rows, curves, facts)


def natural(contender: Contender, stream: Examples, lengths: Mapping[str, int]) -> list[Row]:
    """Play all of it once, which also plays the streams that are beginnings of it."""
    given = _within_limit(contender, stream)
    settings = contender.settings(rare=False)
    if contender.tuned_on is not None and len(settings) > 1:
        some = given.first(contender.tuned_on)
        settings = [settings[_least_error([figures(some.labels, each) for each in contender.play(some, settings)])]]
    all_played = contender.play(given, settings)
    rows = []
    for name, length in lengths.items():
        labels = given.labels[:length]
        runs = [figures(labels, played.up_to(labels.size)) for played in all_played]
        best = _least_error(runs)
        rows.append(Row(name, contender.name, NATURAL, dict(settings[best]), labels.size, [runs[best]]))
    return rows


def play_rare(contender: Contender, stream: Examples, name: str, seeds: Sequence[int]) -> Row:
    """Play a sample for each seed, all with one setting."""
    samples = [_within_limit(contender, stream.select(rare(stream.labels, seed))) for seed in seeds]
    settings = contender.settings(rare=True)
    if contender.tuned_on is not None and len(settings) > 1:
        some = samples[0].first(contender.tuned_on)
        runs = [[figures(some.labels, played)] for played in contender.play(some, settings)]
        settings = [settings[_best_balance(runs)]]
    by_sample = [[figures(sample.labels, p) for p in contender.play(sample, settings)] for sample in samples]
    by_setting = list(zip(*by_sample, strict=True))
    best = _best_balance(by_setting)
    return Row(name, contender.name, RARE, dict(settings[best]), len(samples[0]), list(by_setting[best]))


def cold(contender: Contender, starts: Sequence[Examples], name: str, options: Options, ratio: str) -> Curve:
    """Start at several places of the stream, knowing nothing."""
    curves = []
    for window in starts:
        (played,) = contender.play(window, [options])
        curves.append(curve(window.labels, played.scores, POINTS[ratio]))
    return Curve(name, contender.name, ratio, mean_curve(curves))


def windows(stream: Examples, ratio: str, seeds: Sequence[int], count: int) -> list[Examples]:
    """Return parts of the stream for cold starts, the same for all contenders."""
    length = POINTS[ratio][-1]
    samples = [stream] if ratio == NATURAL else [stream.select(rare(stream.labels, seed)) for seed in seeds]
    return [
        sample.select(np.arange(start, min(start + length, len(sample))))
        for number, sample in enumerate(samples)
        for start in starts_of(len(sample), length, count // len(samples), number).tolist()
    ]


def starts_of(examples: int, window: int, count: int, seed: int) -> Ints:
    """Draw the starts of windows, ascending; all at 0 if the stream is shorter than a window."""
    room = max(examples - window, 0) + 1
    return np.sort(np.random.default_rng(seed).integers(0, room, count))


def _raws(limit: int | None) -> Examples:
    found = raw_mails(SOURCES[MAILS], limit or max(STREAMS[MAILS].values()))
    labels = np.array([float(label) for label, _ in found])
    starts = np.zeros(len(found) + 1, np.int64)
    return Examples(starts, np.empty(0, np.uint64), np.empty(0), labels, [raw for _, raw in found])


def _facts(name: str, stream: Examples) -> Facts:
    _, features = stream.columns()
    return Facts(name, len(stream), int((stream.labels > 0.0).sum()), stream.keys.size, features)


def _within_limit(contender: Contender, stream: Examples) -> Examples:
    return stream if contender.limit is None else stream.first(contender.limit)


def _least_error(runs: Sequence[Figures]) -> int:
    return min(range(len(runs)), key=lambda k: 1.0 if (error := runs[k].error) is None else error)


def _best_balance(runs: Sequence[Sequence[Figures]]) -> int:
    """Return the setting with the largest balanced accuracy, on average over its samples."""
    return max(range(len(runs)), key=lambda k: fmean(run.balanced or 0.0 for run in runs[k]))
