"""Tasks: one contender on one file, at its natural ratio, with rare anomalies, and from a cold start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from experiments.examples import Examples, joined, opened, rare
from experiments.preparation import TRAIN, Facts, facts_of
from experiments.quality.contenders import OURS, Contender, Options
from experiments.quality.verdicts import NATURAL, POINTS, RARE, RATIOS, Curve, Figures, Row, curve, figures, mean_curve
from experiments.sets import SOURCES
from experiments.sets.mails import raw_mails
from experiments.tasks import Task

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
    found = []
    for folder in folders:
        length = min(max(STREAMS[folder.name].values()), sizes.examples or 1 << 62)
        for name, contender in contenders.items():
            if contender.reads_raws and folder.name != MAILS:
                continue
            runs = len(contender.settings(rare=False)) + len(contender.settings(rare=True)) * len(sizes.seeds) / 2
            seconds = 1e-6 * contender.microseconds * min(length, contender.limit or length) * runs
            arguments: dict[str, Any] = {"folder": str(folder), "name": name, "seeds": list(sizes.seeds)}
            arguments |= {"starts": sizes.starts, "limit": sizes.examples}
            found.append(Task(STUDY, f"{name} on {folder.name}", seconds, evaluate, arguments))
    return found


def evaluate(folder: str, name: str, seeds: list[int], starts: dict[str, int], limit: int | None) -> Outcome:
    """Play everything; settings of a cold start are those that were best for the whole stream."""
    from experiments.quality.libraries import CONTENDERS  # noqa: PLC0415 - tests have other contenders

    contender, streams = CONTENDERS[name], STREAMS[Path(folder).name]
    whole = _raws(limit) if contender.reads_raws else joined([opened(Path(folder) / TRAIN)])
    whole = whole.first(max(streams.values()))
    rows = play(contender, [whole], NATURAL, streams)
    chosen = {NATURAL: rows[0].setting}
    for stream, length in streams.items():
        rows += play(contender, samples_of(whole.first(length), seeds), RARE, {stream: length})
        chosen.setdefault(RARE, rows[-1].setting)
    curves = []
    if not name.startswith(WITHOUT_COLD_START):
        # bogofilter runs processes for each mail: a cold start at 1:99 takes too long.
        for ratio in (NATURAL,) if contender.reads_raws else RATIOS:
            some = windows(whole, ratio, seeds, starts[ratio])
            curves.append(cold(contender, some, next(iter(streams)), chosen[ratio], ratio))
    facts = [facts_of(stream, whole.first(length)) for stream, length in streams.items()] if name == OURS else []
    return Outcome(rows, curves, facts)


def samples_of(stream: Examples, seeds: Sequence[int]) -> list[Examples]:
    return [stream.select(rare(stream.labels, seed)) for seed in seeds]


def play(contender: Contender, samples: Sequence[Examples], ratio: str, lengths: Mapping[str, int]) -> list[Row]:
    """Play each sample once, which also plays the streams that are beginnings of it; all with the best setting."""
    samples = [sample.first(contender.limit or len(sample)) for sample in samples]
    settings = contender.settings(rare=ratio == RARE)
    if contender.tuned_on is not None and len(settings) > 1:
        some = samples[0].first(contender.tuned_on)
        runs = [[figures(some.labels, played)] for played in contender.play(some, settings)]
        settings = [settings[_best(runs, ratio)]]
    both = [(sample.labels, contender.play(sample, settings)) for sample in samples]
    rows = []
    for name, length in lengths.items():
        by_sample = [[figures(labels[:length], each.up_to(length)) for each in played] for labels, played in both]
        by_setting = list(zip(*by_sample, strict=True))
        best = _best(by_setting, ratio)
        examples = min(length, len(samples[0]))
        rows.append(Row(name, contender.name, ratio, dict(settings[best]), examples, list(by_setting[best])))
    return rows


def cold(contender: Contender, starts: Sequence[Examples], name: str, options: Options, ratio: str) -> Curve:
    played = [(window.labels, contender.play(window, [options])[0].scores) for window in starts]
    return Curve(name, contender.name, ratio, mean_curve([curve(*each, POINTS[ratio]) for each in played]))


def windows(stream: Examples, ratio: str, seeds: Sequence[int], count: int) -> list[Examples]:
    """Return parts of the stream for cold starts at random places, the same for all contenders."""
    length = POINTS[ratio][-1]
    samples = [stream] if ratio == NATURAL else samples_of(stream, seeds)
    found = []
    for number, sample in enumerate(samples):
        room = max(len(sample) - length, 0) + 1
        starts = np.sort(np.random.default_rng(number).integers(0, room, count // len(samples)))
        found += [sample.select(np.arange(start, min(start + length, len(sample)))) for start in starts.tolist()]
    return found


def _raws(limit: int | None) -> Examples:
    found = raw_mails(SOURCES[MAILS], limit or max(STREAMS[MAILS].values()))
    labels = np.array([float(label) for label, _ in found])
    starts = np.zeros(len(found) + 1, np.int64)
    return Examples(starts, np.empty(0, np.uint64), np.empty(0), labels, [raw for _, raw in found])


def _best(runs: Sequence[Sequence[Figures]], ratio: str) -> int:
    """Return the setting with the least error or, of rare anomalies, the largest mean balanced accuracy."""

    def loss(run: Figures) -> float:
        if ratio == RARE:
            return -(run.balanced or 0.0)
        return 1.0 if run.error is None else run.error

    return min(range(len(runs)), key=lambda k: fmean(map(loss, runs[k])))
