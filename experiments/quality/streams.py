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
    kind: str
    order: str
    limit: int | None = None

    @property
    def given(self) -> bool:
        """Whether the numbers are a caller's; else they come from a featurizer, and are stored once."""
        return self.kind not in {"URLs", "mails", "texts"}

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
    listed = {
        ("URLs", "shuffled"): (PHISHSTORM, PDD),
        ("URLs", "by time"): (PHISHTANK, JPCERT),
        ("mails", "by time"): (TREC, TREC_BEGINNING),
        ("mails", "shuffled"): ("spamassassin", "enron"),
        ("texts", "as in the file"): ("sms",),
        ("texts", "shuffled"): ("lingspam", "news"),
        ("texts", "invented"): ("logs",),
        ("flags", "as in the file"): ("a9a",),
        ("flags", "shuffled"): ("w8a",),
        ("counts", "shuffled"): ("pcmac",),
        ("numbers", "by time"): ("elec2",),
        ("numbers", "shuffled"): ("breast-cancer", "wine", "digits"),
        ("numbers", "invented"): ("payments", "two-tailed", "mixed", "sensors", "units"),
    }
    return {
        name: Stream(name, known[name.removesuffix("-10k")], *of, limit=10_000 if name == TREC_BEGINNING else None)
        for of, names in listed.items()
        for name in names
    }


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
