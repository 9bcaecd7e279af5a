"""The streams of the benchmark, and the samples of each at a ratio of anomalies to normal examples."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from experiments.examples import Examples, joined, opened, rare
from experiments.preparation import TRAIN, sets_folder
from experiments.quality.scenarios import Script, standard
from experiments.sets import QUALITY_SOURCES, SOURCES
from experiments.sets.mails import raw_mails
from experiments.sets.source import Source

NATURAL = "natural"
RATIOS = {NATURAL: 0, "1:9": 9, "1:19": 19, "1:99": 99}  # normal examples for each anomaly
FEWEST = 10  # anomalies in a sample
PHISHSTORM, PDD, PHISHTANK, JPCERT = "phishstorm", "pdd", "phishtank", "jpcert"
TREC, TREC_BEGINNING = "trec07p", "trec07p-10k"


@dataclass(frozen=True, slots=True)
class Stream:
    """A set, or its beginning, in its order."""

    name: str
    source: Source
    given: bool  # the numbers are a caller's; else they come from a featurizer, and are stored once
    kind: str
    order: str
    limit: int | None = None

    def read(self, work: Path, limit: int | None, *, with_raws: bool = False) -> Examples:
        count = min(limit or 1 << 62, self.limit or 1 << 62)
        if self.given:
            batches = list(self.source.train(count))
            starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(batch.starts) for batch in batches]))])
            keys, values, labels = (
                np.concatenate([getattr(batch, of) for batch in batches]) for of in ("keys", "values", "labels")
            )
            return Examples(starts.astype(np.int64), keys, values, labels, given=True)
        found = joined([opened(sets_folder(work) / self.source.name / TRAIN)]).first(count)
        if not with_raws:
            return found
        raws = [raw for _, raw in raw_mails(self.source, len(found))]
        return Examples(found.starts, found.keys, found.values, found.labels, raws)


@cache
def streams() -> dict[str, Stream]:
    known = SOURCES | QUALITY_SOURCES
    found = [
        *(Stream(name, known[name], False, "URLs", "shuffled") for name in (PHISHSTORM, PDD)),
        *(Stream(name, known[name], False, "URLs", "by time") for name in (PHISHTANK, JPCERT)),
        Stream(TREC, known[TREC], False, "mails", "by time"),
        Stream(TREC_BEGINNING, known[TREC], False, "mails", "by time", 10_000),
        *(Stream(name, known[name], False, "mails", "shuffled") for name in ("spamassassin", "enron")),
        Stream("sms", known["sms"], False, "texts", "as in the file"),
        *(Stream(name, known[name], False, "texts", "shuffled") for name in ("lingspam", "news")),
        Stream("a9a", known["a9a"], True, "flags", "as in the file"),
        Stream("w8a", known["w8a"], True, "flags", "shuffled"),
        Stream("pcmac", known["pcmac"], True, "counts", "shuffled"),
        Stream("elec2", known["elec2"], True, "numbers", "by time"),
        *(Stream(name, known[name], True, "numbers", "shuffled") for name in ("breast-cancer", "wine", "digits")),
        *(Stream(name, known[name], True, "invented", "drawn") for name in ("payments", "two-tailed", "mixed")),
        *(Stream(name, known[name], True, "invented", "drawn") for name in ("sensors", "units")),
        Stream("logs", known["logs"], False, "invented", "drawn"),
    ]
    return {stream.name: stream for stream in found}


def samples_of(stream: Examples, ratio: str, seeds: list[int]) -> list[Script]:
    """Return one sample for each seed, or the stream itself; none if it has too few anomalies for the ratio."""
    if ratio == NATURAL:
        return [standard(stream)]
    positives = int(np.count_nonzero(stream.labels > 0.0))
    wanted = (len(stream) - positives) / RATIOS[ratio]
    if not FEWEST <= wanted < positives:
        return []
    chosen = [rare(stream.labels, seed, RATIOS[ratio]) for seed in seeds]
    return [standard(stream.select(rows), rows) for rows in chosen]
