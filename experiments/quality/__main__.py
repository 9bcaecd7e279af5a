"""Measure verdicts beside other learners, and write docs/quality.md after a whole run; 1 if a target was missed."""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from experiments.preparation import prepare_sets
from experiments.quality import costs, review_curve
from experiments.quality.defaults import HEADS, compare_defaults
from experiments.quality.plan import QUICK, WHOLE, Sizes, change_tasks, tasks
from experiments.quality.report import Results, sections, targets
from experiments.quality.rivals.bogofilter import is_installed
from experiments.quality.significance import LOST
from experiments.quality.streams import RATIOS, TREC, streams
from experiments.quality.verdicts import LABELS, Outcome
from experiments.tasks import ROOT, Task, log, run
from load_tests.harness.machine import Machine
from load_tests.harness.report import DOCS, filled, publish

PAGE = DOCS / "quality.md"
PACKAGES = ("numpy", "numba", "tldextract", "selectolax", "scikit-learn", "vowpalwabbit", "river")
NO_BOGOFILTER = "bogofilter is not installed, so its rows are missing: on Debian, `apt-get install bogofilter`."


def main() -> int:
    parser = argparse.ArgumentParser(prog="experiments.quality", description=__doc__)
    option = parser.add_argument
    option("--quick", action="store_true", help="a trial with few examples, which writes nothing into docs")
    option("--only", type=_names, metavar="NAME,...", help="some of the streams; writes nothing into docs")
    option("--ratios", type=_names, metavar="RATIO,...", help=f"some of {', '.join(RATIOS)}; writes nothing into docs")
    option("--processes", type=int, metavar="N", help="how many run side by side; default: one for each processor")
    option("--minutes", type=float, metavar="N", help="begin no stream after so long; the page says what is missing")
    option("--defaults", action="store_true", help="only compare the settings of new tenants with those of before")
    option("--review", action="store_true", help="only compare labels by the review policy with random ones")
    option("--work", type=Path, help="where sets and results are kept for the next run")
    chosen = parser.parse_args()
    sizes = QUICK if chosen.quick else WHOLE
    if unknown := {*(chosen.only or ())} - {*streams()} | {*(chosen.ratios or ())} - {*RATIOS}:
        parser.error(f"{', '.join(sorted(unknown))}: the streams are {', '.join(streams())}")
    sizes = replace(sizes, streams=tuple(chosen.only or sizes.streams), ratios=tuple(chosen.ratios or sizes.ratios))
    work = chosen.work or ROOT / "build" / ("quality-quick" if chosen.quick else "quality")
    if chosen.defaults:
        return print_defaults(sizes, work)
    if chosen.review:
        is_whole = sizes == WHOLE and not any(streams()[name].source.absent() for name in review_curve.STREAMS)
        points = play_reviews(sizes, sizes.streams, work, chosen.processes)
        section = {review_curve.CURVE: review_curve.section(points)}
        return publish(PAGE, section, list(review_curve.targets(points)), write=is_whole)
    results = measure(sizes, work, chosen.processes, chosen.minutes)
    found = [] if sizes.examples else list(targets(results))  # a beginning of a stream meets none
    parts = sections(results, found)
    (work / PAGE.name).write_text(filled(PAGE, parts), encoding="utf-8")
    log(f"the page of this run is {work / PAGE.name}")
    return publish(PAGE, parts, found, write=sizes == WHOLE and not results.absent)


def print_defaults(sizes: Sizes, work: Path) -> int:
    """Print a row for each stream and ratio as soon as it is known; 1 if one got worse."""
    names = [name for name in sizes.streams if not streams()[name].source.absent()]
    prepare_sets(
        dict.fromkeys(streams()[name].source.name for name in names if not streams()[name].given), {}, work, None, 1
    )
    print("|", " | ".join(HEADS), "|\n|" + " --- |" * len(HEADS))
    worse = False
    for row in compare_defaults(names, sizes.ratios, list(sizes.seeds), work):
        print("|", " | ".join(row), "|", flush=True)
        worse = worse or LOST in row[-1]
    return int(worse)


def play_reviews(sizes: Sizes, names: Sequence[str], work: Path, processes: int | None) -> list[review_curve.Point]:
    """Play the streams on which the review policy is measured."""
    chosen = [name for name in review_curve.STREAMS if name in names and not streams()[name].source.absent()]
    prepare_sets(dict.fromkeys(streams()[name].source.name for name in chosen), {}, work, sizes.examples, processes)
    planned = review_curve.tasks(chosen, sizes.ratios, work, sizes.examples)
    found: Sequence[list[review_curve.Point]] = list(
        run(planned, work / "results", processes)[review_curve.CURVE].values()
    )
    return [point for points in found for point in points]


def not_played(tasks: Sequence[Task], done: Iterable[tuple[str, str]], what: str) -> Iterator[str]:
    """Say which tasks have no result because the time was over."""
    names = {" ".join(cell) for cell in done}
    if missing := [task.name for task in tasks if task.name not in names]:
        yield f"Not played yet, because the time was over ({what}): {', '.join(missing)}."


def _names(text: str) -> list[str]:
    return text.split(",")


def measure(sizes: Sizes, work: Path, processes: int | None, minutes: float | None) -> Results:
    """Play everything side by side, then time what features cost."""
    start, machine = time.monotonic(), Machine(*PACKAGES)
    absent = [] if is_installed() else [NO_BOGOFILTER]
    names = []
    for name in sizes.streams:
        if missing := streams()[name].source.absent():
            absent.append(
                f"{name} is left out: {missing[0].name} is absent (SLUICE_DATA names the folder of the data)."
            )
        else:
            names.append(name)
    for sentence in absent:
        log(sentence)
    stored = dict.fromkeys(streams()[name].source.name for name in names if not streams()[name].given)
    prepare_sets(stored, {}, work, sizes.examples, processes)
    until = None if minutes is None else time.time() + 60.0 * minutes
    wanted = tasks(sizes, names, work)

    def play(some: Sequence[Task]) -> dict[tuple[str, str], Outcome]:
        found = run(some, work / "results", processes, longest_first=False, until=until)
        return {(outcome.stream, outcome.ratio): outcome for study in found.values() for outcome in study.values()}

    first = [task for task in wanted if task.arguments["ratio"] in LABELS]
    outcomes = play(first)
    changes = change_tasks(sizes, outcomes, work)
    changed = play(changes)
    outcomes |= play([task for task in wanted if task not in first])
    for cell, more in changed.items():
        before = outcomes[cell]
        outcomes[cell] = msgspec.structs.replace(before, matches=[*before.matches, *more.matches], curves=more.curves)
    cells = ((name, ratio) for name in sizes.streams if name in names for ratio in sizes.ratios)
    ordered = [outcomes[cell] for cell in cells if cell in outcomes]
    unplayed = [*not_played(wanted, outcomes, "streams"), *not_played(changes, changed, "scenarios and cold starts")]
    reviews = play_reviews(sizes, names, work, processes)
    timed = TREC in names and sizes.examples is None
    if timed:
        log("timing features")
    return Results(
        outcomes=ordered,
        costs={"url": costs.url_cost(), "mail": costs.mail_cost()} if timed else {},
        peaks={shape: costs.peak_ratio(shape) for shape in costs.SHAPES} if timed else {},
        absent=absent,
        reviews=reviews,
        unplayed=unplayed,
        machine=machine.facts("2", f"The last run took {(time.monotonic() - start) / 60.0:.0f} minutes"),
    )


if __name__ == "__main__":
    sys.exit(main())
