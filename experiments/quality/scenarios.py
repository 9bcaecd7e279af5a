"""Streams that change midway, and labels that are wrong, late, few or chosen."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from experiments.examples import Examples, rare
from experiments.quality.contenders import Online
from kernels.arrays import Floats, Ints

SEED = 7
WRONG = 0.1
DELAY = 500
LABELLED = 0.4  # as in TREC 2007: labels for the first 10,000 of our 25,000 mails, or for one recipient's 40%
QUOTA = 0.04  # 1,000 labels of 25,000 mails
WARM, WINDOW, UNSURE = 100, 200, 0.25
CHECKED = 0.05
RENAMED = np.uint64(0xA5A5A5A5A5A5A5A5)


@dataclass(frozen=True, slots=True, eq=False)
class Script:
    """Lines to play, in order; which of them are tested, which examples those are, and their right labels."""

    lines: Examples  # the label 0: only score
    tested: Ints
    rows: Ints
    truth: Floats


def standard(stream: Examples, rows: Ints | None = None) -> Script:
    everything = np.arange(len(stream))
    return Script(stream, everything, everything if rows is None else rows, stream.labels)


def _taught(stream: Examples, labels: Floats, tested: Ints) -> Script:
    return Script(replace(stream, labels=labels), tested, tested, stream.labels[tested])


def _second_half(stream: Examples) -> Ints:
    return np.arange(len(stream) // 2, len(stream))


def flipped(stream: Examples) -> Script:
    """All labels mean the opposite from the middle."""
    half = _second_half(stream)
    labels = stream.labels.copy()
    labels[half] *= -1.0
    return _taught(replace(stream, labels=labels), labels, half)


def wrong(stream: Examples) -> Script:
    lots = np.random.default_rng(SEED).random(len(stream))
    return _taught(stream, np.where(lots < WRONG, -stream.labels, stream.labels), np.arange(len(stream)))


def renamed(stream: Examples) -> Script:
    """All features have other names from the middle."""
    half, keys = _second_half(stream), stream.keys.copy()
    keys[stream.starts[half[0]] :] ^= RENAMED
    return _taught(replace(stream, keys=keys), stream.labels, half)


def rarer(stream: Examples) -> Script:
    return _with_rare_half(stream, second=True)


def more_frequent(stream: Examples) -> Script:
    return _with_rare_half(stream, second=False)


def _with_rare_half(stream: Examples, *, second: bool) -> Script:
    """Make anomalies 1 in 100 in one half; the second is tested."""
    half = len(stream) // 2
    start, stop = (half, len(stream)) if second else (0, half)
    kept = rare(stream.labels[start:stop], SEED) + start
    rows = np.concatenate([np.arange(start), kept, np.arange(stop, len(stream))])
    tested = np.flatnonzero(rows >= half)
    chosen = stream.select(rows)
    return Script(chosen, tested, rows[tested], chosen.labels[tested])


def delayed(stream: Examples) -> Script:
    """Each label comes later by so many examples; those at the end never come."""
    count = len(stream)
    late = np.arange(DELAY, max(count, DELAY))
    rows = np.concatenate([np.arange(count), late - DELAY])
    order = np.argsort(np.concatenate([np.arange(count), late]), kind="stable")  # a test, then the late label
    is_test = (np.arange(rows.size) < count)[order]
    lines = stream.select(rows[order])
    return Script(
        replace(lines, labels=np.where(is_test, 0.0, lines.labels)),
        np.flatnonzero(is_test), rows[order][is_test], stream.labels,
    )  # fmt: skip


def only_first(stream: Examples) -> Script:
    """Labels end after the first part; the rest is tested."""
    rest = np.arange(int(LABELLED * len(stream)), len(stream))
    labels = stream.labels.copy()
    labels[rest] = 0.0
    return _taught(stream, labels, rest)


def partial_labels(stream: Examples) -> Script:
    lots = np.random.default_rng(SEED).random(len(stream))
    return _taught(stream, np.where(lots < LABELLED, stream.labels, 0.0), np.arange(len(stream)))


def play_active(stream: Examples, learner: Online) -> Floats:
    """Ask for a label where the score is among the smallest of late, until the quota is used."""
    score, learn = learner
    scores, left = np.empty(len(stream)), max(int(QUOTA * len(stream)), WARM)
    for line, label in enumerate(stream.labels.tolist()):
        scores[line] = score(line)
        latest = np.abs(scores[max(line - WINDOW, 0) : line])
        if left and (line < WARM or abs(scores[line]) <= np.quantile(latest, UNSURE)):
            learn(line, label)
            left -= 1
    return scores


def play_alarms(stream: Examples, learner: Online) -> Floats:
    """Labels come for alarms, and for a few of the others that are checked at random."""
    score, learn = learner
    scores, lots = np.empty(len(stream)), np.random.default_rng(SEED).random(len(stream))
    for line, label in enumerate(stream.labels.tolist()):
        scores[line] = score(line)
        if scores[line] > 0.0 or lots[line] < CHECKED:
            learn(line, label)
    return scores


SCRIPTS: dict[str, Callable[[Examples], Script]] = {
    "all labels flip midway": flipped,
    "10% of the labels are wrong": wrong,
    "all features are renamed midway": renamed,
    "anomalies become rare midway": rarer,
    "anomalies become frequent midway": more_frequent,
    f"labels come {DELAY} examples late": delayed,
    "labels for the first 40% only": only_first,
    "labels for a random 40%": partial_labels,
}
ONLINE: dict[str, Callable[[Examples, Online], Floats]] = {
    "labels for 4%, chosen by the learner": play_active,
    "labels for alarms and 5% of the rest": play_alarms,
}
