"""Measure verdicts on real inputs beside other learners, and write docs/quality.md; 1 if a target was missed."""

import argparse
import sys
import time
from pathlib import Path

from experiments.preparation import prepare_sets, sets_folder
from experiments.quality import costs
from experiments.quality.libraries import CONTENDERS, is_installed
from experiments.quality.report import Results, sections, targets
from experiments.quality.study import QUICK, STREAMS, STUDY, WHOLE, Outcome, Sizes, tasks
from experiments.sets import SOURCES
from experiments.tasks import ROOT, log, run
from load_tests.harness.machine import Machine
from load_tests.harness.report import DOCS, publish

PAGE = DOCS / "quality.md"
PACKAGES = ("numpy", "numba", "tldextract", "selectolax", "scikit-learn", "vowpalwabbit", "river")
NO_BOGOFILTER = "bogofilter is not installed, so its rows are missing: on Debian, `apt-get install bogofilter`."


def main() -> int:
    parser = argparse.ArgumentParser(prog="experiments.quality", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial with few examples, which writes nothing")
    parser.add_argument("--only", metavar="WORD", default="", help="sets with this in their name; writes nothing")
    parser.add_argument("--work", type=Path, help="where sets and results are kept for the next run")
    chosen = parser.parse_args()
    if missing := [path for name in STREAMS for path in SOURCES[name].absent()]:
        sys.exit(f"{missing[0]} is absent, and {len(missing) - 1} others; SLUICE_DATA names the folder of the corpora")
    work = chosen.work or ROOT / "build" / ("quality-quick" if chosen.quick else "quality")
    names = [name for name in STREAMS if chosen.only in name]
    results = measure(QUICK if chosen.quick else WHOLE, names, work)
    found = list(targets(results))
    return publish(PAGE, sections(results, found), found, write=not chosen.quick and not chosen.only)


def measure(sizes: Sizes, names: list[str], work: Path) -> Results:
    """Play everything on all processors, then time what features cost."""
    start, machine = time.monotonic(), Machine(*PACKAGES)
    folder = sets_folder(work)
    prepare_sets(names, {}, work, sizes.examples)
    contenders = {name: each for name, each in CONTENDERS.items() if not each.reads_raws or is_installed()}
    found = run(tasks(sizes, [folder / name for name in names], contenders), work / "results")[STUDY]
    outcomes: list[Outcome] = list(found.values())
    log("timing features")
    url_cost, mail_cost = costs.url_cost(), costs.mail_cost()
    peaks = {shape: costs.peak_ratio(shape) for shape in costs.SHAPES}
    return Results(
        machine=machine.facts("2", f"It took {(time.monotonic() - start) / 60.0:.0f} minutes"),
        facts=[each for outcome in outcomes for each in outcome.facts],
        rows=[each for outcome in outcomes for each in outcome.rows],
        curves=[each for outcome in outcomes for each in outcome.curves],
        url_cost=url_cost,
        mail_cost=mail_cost,
        peaks=peaks,
        absent=[] if is_installed() else [NO_BOGOFILTER],
    )


if __name__ == "__main__":
    sys.exit(main())
