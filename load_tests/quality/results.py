"""What one run found, and what it was to find."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from load_tests.harness.report import Target, at_least, at_most
from load_tests.quality import sources
from load_tests.quality.contenders.names import OURS, SPARSE
from load_tests.quality.rows import Curve, Facts, Row
from load_tests.quality.sizes import NATURAL, RARE, Sizes
from load_tests.quality.speed import Cost

LARGEST_ERRORS = {
    sources.PHISHSTORM: 3.5,
    sources.PDD: 3.2,
    sources.PHISHTANK: 1.25,
    sources.JPCERT: 1.7,
    sources.TREC: 0.35,
}
LEAST_BALANCED_AT_RARE = {
    sources.PHISHSTORM: 89.0,
    sources.PDD: 86.0,
    sources.PHISHTANK: 88.0,
    sources.JPCERT: 94.5,
    sources.TREC: 95.0,
    sources.TREC_BEGINNING: 90.0,
}
LEAST_BALANCED = 99.2
LEAST_LAST_HALF = 99.5
LARGEST_LOSS_BY_SPARSITY = 0.3
URL_RATIO, MAIL_RATIO, PEAK_RATIO = 2.0, 3.0, 10.0


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was measured."""

    sizes: Sizes
    machine: list[str]
    load_averages: tuple[float, float]
    facts: list[Facts]
    rows: list[Row]
    curves: list[Curve]
    url_cost: Cost
    mail_cost: Cost
    peaks: dict[str, float]
    minutes: float
    absent: list[str]  # sentences on who could not take part

    def row(self, stream: str, contender: str, ratio: str) -> Row | None:
        """One contender on one stream."""
        wanted = (stream, contender, ratio)
        return next((row for row in self.rows if (row.stream, row.contender, row.ratio) == wanted), None)

    def figure(self, stream: str, ratio: str, name: str, contender: str = OURS) -> float | None:
        """A figure in percent."""
        row = self.row(stream, contender, ratio)
        share = None if row is None else row.mean(name)
        return None if share is None else 100.0 * share

    def lost_by_sparsity(self, stream: str, ratio: str) -> float | None:
        """Points of balanced accuracy that our default has more than 90% sparsity."""
        dense = self.figure(stream, ratio, "balanced")
        sparse = self.figure(stream, ratio, "balanced", SPARSE)
        return None if dense is None or sparse is None else dense - sparse


def targets(results: Results) -> list[Target]:
    """All bars; a stream that was not played has none."""
    return [*_quality(results), *_sparsity(results), *_speed(results)]


def _quality(results: Results) -> Iterator[Target]:
    for stream, bar in LARGEST_ERRORS.items():
        error = results.figure(stream, NATURAL, "error")
        if error is not None:
            yield _precise(at_most(f"{stream}: error", bar, error, "%"), f"{error:.2f}%")
    for stream, bar in LEAST_BALANCED_AT_RARE.items():
        balanced = results.figure(stream, RARE, "balanced")
        if balanced is not None:
            yield _precise(at_least(f"{stream}: balanced accuracy at {RARE}", bar, balanced, "%"), f"{balanced:.2f}%")
    wanted = {"balanced": ("balanced accuracy", LEAST_BALANCED), "last_half": ("... of its last half", LEAST_LAST_HALF)}
    for name, (text, bar) in wanted.items():
        found = results.figure(sources.TREC_BEGINNING, NATURAL, name)
        if found is not None:
            yield _precise(at_least(f"{sources.TREC_BEGINNING}: {text}", bar, found, "%"), f"{found:.2f}%")


def _sparsity(results: Results) -> Iterator[Target]:
    for stream in sources.STREAMS:
        for ratio in (NATURAL, RARE):
            lost = results.lost_by_sparsity(stream, ratio)
            if lost is not None:
                text = f"{stream}: balanced accuracy lost by 90% sparsity, {ratio}"
                yield _precise(at_most(text, LARGEST_LOSS_BY_SPARSITY, lost, " points"), f"{lost:.2f} points")


def _speed(results: Results) -> Iterator[Target]:
    yield at_most("A URL to features and score, beside urlsplit and tldextract", URL_RATIO, results.url_cost.ratio)
    yield at_most("A mail of 10 KB to features and score, beside the parser", MAIL_RATIO, results.mail_cost.ratio)
    shape, peak = max(results.peaks.items(), key=lambda each: each[1])
    yield at_most(f"Peak memory of a mail of 25 MB (worst: {shape})", PEAK_RATIO, peak, " times its size")


def _precise(target: Target, measured: str) -> Target:
    """With as many digits as the bars have: near 100% three are too few."""
    return replace(target, measured=measured)
