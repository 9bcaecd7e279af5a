"""Lets a contender play a stream: at its natural ratio, with rare anomalies, and from a cold start."""

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.sets import rare as rarity
from load_tests.quality import sampling
from load_tests.quality.contenders.contender import Contender, Options
from load_tests.quality.rates import curve, mean_curve
from load_tests.quality.rows import Curve, Row, best_by_balance, best_by_error, figures
from load_tests.quality.sizes import NATURAL, POINTS, RARE, Sizes
from load_tests.quality.stream import Stream


def natural(contender: Contender, stream: Stream, lengths: Mapping[str, int]) -> list[Row]:
    """Play all of it once; streams that are beginnings of it have played then, too."""
    given = _within_limit(contender, stream)
    settings = contender.settings(rare=False)
    if contender.tuned_on is not None and len(settings) > 1:
        some = given.first(contender.tuned_on)
        runs = [figures(some.labels, played) for played in contender.play(some, settings)]
        settings = [settings[best_by_error(runs)]]
    all_played = contender.play(given, settings)
    rows = []
    for name, length in lengths.items():
        labels = given.labels[:length]
        runs = [figures(labels, played.up_to(labels.size)) for played in all_played]
        best = best_by_error(runs)
        rows.append(Row(name, contender.name, NATURAL, settings[best], labels.size, [runs[best]]))
    return rows


def rare(contender: Contender, stream: Stream, name: str, seeds: Sequence[int]) -> Row:
    """Play a sample for each seed, all with one setting."""
    samples = [_within_limit(contender, stream.part(rarity.rare(stream.labels, seed))) for seed in seeds]
    settings = contender.settings(rare=True)
    if contender.tuned_on is not None and len(settings) > 1:
        some = samples[0].first(contender.tuned_on)
        runs = [[figures(some.labels, played)] for played in contender.play(some, settings)]
        settings = [settings[best_by_balance(runs)]]
    by_sample = [[figures(sample.labels, p) for p in contender.play(sample, settings)] for sample in samples]
    by_setting = list(zip(*by_sample, strict=True))
    best = best_by_balance(by_setting)
    return Row(name, contender.name, RARE, settings[best], len(samples[0]), list(by_setting[best]))


def cold(contender: Contender, starts: Sequence[Stream], name: str, options: Options, ratio: str) -> Curve:
    """Start at several places of the stream, knowing nothing."""
    curves = []
    for window in starts:
        (played,) = contender.play(window, [options])
        curves.append(curve(window.labels, played.scores, POINTS[ratio]))
    return Curve(name, contender.name, ratio, mean_curve(curves))


def windows(stream: Stream, ratio: str, sizes: Sizes) -> list[Stream]:
    """Parts of the stream to begin with; the same for all contenders."""
    length, count = POINTS[ratio][-1], sizes.starts[ratio]
    if ratio == NATURAL:
        return _windows(stream, length, count, seed=0)
    samples = [stream.part(rarity.rare(stream.labels, seed)) for seed in sizes.seeds]
    each = count // len(samples)
    return [window for seed, sample in enumerate(samples) for window in _windows(sample, length, each, seed)]


def _windows(stream: Stream, length: int, count: int, seed: int) -> list[Stream]:
    found = sampling.starts(len(stream), length, count, seed).tolist()
    return [stream.part(np.arange(start, min(start + length, len(stream)))) for start in found]


def _within_limit(contender: Contender, stream: Stream) -> Stream:
    return stream if contender.limit is None else stream.first(contender.limit)
