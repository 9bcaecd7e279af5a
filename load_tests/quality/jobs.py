"""The work in pieces whose length can be guessed, so that what is left can be told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from app.features.featurizer import Kind
from load_tests.quality import playing, sources
from load_tests.quality.contenders.contender import Contender, Options
from load_tests.quality.rows import Curve, Facts, Row
from load_tests.quality.sizes import NATURAL, POINTS, RARE, RATIOS, Sizes
from load_tests.quality.sources import Source
from load_tests.quality.stream import Stream

NONZEROS: dict[Kind, int] = {"url": 60, "email": 500, "text": 20}  # of an example, about
FEATURIZING_SECONDS: dict[Kind, float] = {"url": 5e-5, "email": 3e-3, "text": 2e-5}
RARE_SHARE = 0.5  # of a stream that is left at 1:99, about
WITHOUT_COLD_START = "Sluice, "  # other settings of ours play the long streams only

Found = Facts | Row | Curve


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do, about how long it takes, and what it finds."""

    text: str
    seconds: float
    run: Callable[[], Sequence[Found]]


@dataclass
class Unit:
    """What one process does: contenders over one file, which is read once."""

    source: Source
    contenders: Sequence[Contender]
    sizes: Sizes
    raw: bool = False
    chosen: dict[tuple[str, str], Options] = field(default_factory=dict)

    @cached_property
    def stream(self) -> Stream:
        """All examples."""
        load = sources.load_raw if self.raw else sources.load
        return load(self.source, self.examples)

    @property
    def examples(self) -> int:
        """How many of the file are played."""
        return min(self.source.examples, self.sizes.examples)

    def jobs(self) -> list[Job]:
        """Everything, in order."""
        name = next(iter(self.source.streams))
        found = [Job(f"{name}: reading", self.examples * FEATURIZING_SECONDS[self.source.kind], self._load)]
        for contender in self.contenders:
            found.append(self._natural_job(name, contender))
            found += [self._rare_job(each, length, contender) for each, length in self.source.streams.items()]
            if not contender.name.startswith(WITHOUT_COLD_START):
                ratios = (NATURAL,) if self.raw else RATIOS  # processes per mail: a cold start at 1:99 takes too long
                found += [self._cold_job(name, contender, ratio) for ratio in ratios]
        return found

    def _load(self) -> list[Facts]:
        whole = self.stream
        return [] if self.raw else [_facts(name, whole.first(length)) for name, length in self.source.streams.items()]

    def _natural_job(self, name: str, contender: Contender) -> Job:
        def run() -> list[Row]:
            rows = playing.natural(contender, self.stream, self.source.streams)
            self.chosen[contender.name, NATURAL] = rows[0].setting
            return rows

        return Job(f"{name}: {contender.name}", self._seconds(contender, self.examples), run)

    def _rare_job(self, name: str, length: int, contender: Contender) -> Job:
        def run() -> list[Row]:
            row = playing.rare(contender, self.stream.first(length), name, self.sizes.seeds)
            self.chosen.setdefault((contender.name, RARE), row.setting)
            return [row]

        examples = int(min(length, self.examples) * RARE_SHARE)
        seconds = self._seconds(contender, examples, rare=True) * len(self.sizes.seeds)
        return Job(f"{name}: {contender.name} at {RARE}", seconds, run)

    def _cold_job(self, name: str, contender: Contender, ratio: str) -> Job:
        length, count = POINTS[ratio][-1], self.sizes.starts[ratio]
        seconds = count * contender.seconds(length, length * NONZEROS[self.source.kind])
        return Job(
            f"{name}: {contender.name}, cold starts at {ratio}", seconds, partial(self._cold, name, contender, ratio)
        )

    def _cold(self, name: str, contender: Contender, ratio: str) -> list[Curve]:
        options = self.chosen[contender.name, ratio]
        return [playing.cold(contender, playing.windows(self.stream, ratio, self.sizes), name, options, ratio)]

    def _seconds(self, contender: Contender, examples: int, *, rare: bool = False) -> float:
        given = min(examples, contender.limit or examples)
        settings = len(contender.settings(rare=rare))
        tried = min(given, contender.tuned_on or given)
        per_setting = contender.seconds(tried, tried * NONZEROS[self.source.kind])
        return (settings - 1) * per_setting + contender.seconds(given, given * NONZEROS[self.source.kind])


def _facts(name: str, stream: Stream) -> Facts:
    _, features = stream.columns()
    return Facts(name, len(stream), int((stream.labels > 0.0).sum()), stream.keys.size, features)
