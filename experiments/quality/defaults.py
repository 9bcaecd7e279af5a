"""The settings of new tenants beside those of before: `cs-ssol`, raw numbers, threshold 0."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from experiments.quality.contenders import OURS, ours
from experiments.quality.matches import figures_of, right
from experiments.quality.significance import LOST, Comparison, Judged, compare
from experiments.quality.streams import samples_of, streams
from experiments.quality.verdicts import BALANCED

BEFORE = f"{OURS}, cs-ssol"
HEADS = ("stream", "ratio", "before, %", "now, %", "difference", "chance", "")


def compare_defaults(names: Sequence[str], ratios: Sequence[str], seeds: list[int], work: Path) -> Iterator[list[str]]:
    """Yield a row of the table for each stream and ratio: balanced accuracy, mean over the seeds."""
    now, before = (next(each for each in ours() if each.name == name) for name in (OURS, BEFORE))
    for name in names:
        whole = streams()[name].read(work, None)
        for ratio in ratios:
            samples = samples_of(whole, ratio, seeds)
            if not samples:
                continue
            said = {
                each.name: [each.play(sample.lines, [{}])[0].scores > 0.0 for sample in samples]
                for each in (now, before)
            }
            figures = [
                100.0
                * fmean(figures_of(sample.truth, one)[BALANCED] for sample, one in zip(samples, some, strict=True))
                for some in (said[BEFORE], said[OURS])
            ]
            judged = [
                Judged(sample.rows, sample.truth, right(sample.truth, new), right(sample.truth, old))
                for sample, new, old in zip(samples, said[OURS], said[BEFORE], strict=True)
            ]
            yield [name, ratio, *(f"{each:.2f}" for each in figures), *_cells(compare(judged, balanced=True))]


def _cells(found: Comparison) -> list[str]:
    verdict = f"**{found.verdict}**" if found.verdict == LOST else found.verdict
    return [f"{100.0 * found.difference:+.2f}", f"{found.chance:.3f}", verdict]
