"""Measure how good verdicts on real inputs are, beside other learners; print the tables, write docs/quality.md.

Ends with 1 if a target was missed.
"""

import argparse
import sys
import time
from pathlib import Path

from load_tests.harness import machine
from load_tests.harness.report import exit_code, targets_table
from load_tests.quality import memory, sources, speed
from load_tests.quality.contenders import bogofilter
from load_tests.quality.page import quality_page
from load_tests.quality.pool import play
from load_tests.quality.results import Results, targets
from load_tests.quality.rows import Curve, Facts, Row
from load_tests.quality.sizes import QUICK, WHOLE, Sizes
from load_tests.quality.sources import SOURCES, Source
from load_tests.quality.units import units

PAGE = Path(__file__).parents[2] / "docs" / "quality.md"
PACKAGES = ("numpy", "numba", "tldextract", "selectolax", "scikit-learn", "vowpalwabbit", "river")
NO_BOGOFILTER = "bogofilter is not installed, so its rows are missing: on Debian, `apt-get install bogofilter`."


def main() -> None:
    parser = argparse.ArgumentParser(prog="load_tests.quality", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial with few examples, which writes nothing")
    parser.add_argument("--only", metavar="WORD", default="", help="files with this in their name; writes nothing")
    chosen = parser.parse_args()
    if missing := sources.absent():
        sys.exit(f"{missing[0]} is absent, and {len(missing) - 1} others; SLUICE_DATA names the folder of the corpora")
    results = run(QUICK if chosen.quick else WHOLE, [source for source in SOURCES if chosen.only in source.file])
    page = quality_page(results)
    print(page)
    if not chosen.quick and not chosen.only:
        PAGE.write_text(page, encoding="utf-8")
        print(f"wrote docs/{PAGE.name}", file=sys.stderr)
    found = targets(results)
    print(targets_table(found), file=sys.stderr)
    sys.exit(exit_code(found))


def run(sizes: Sizes, files: list[Source]) -> Results:
    """Play everything on all processors, then time what features cost."""
    start, load_before = time.monotonic(), machine.load_average()
    found = play(units(sizes, files))
    load_after = machine.load_average()
    print("timing features", file=sys.stderr)
    return Results(
        sizes=sizes,
        machine=machine.description(PACKAGES),
        load_averages=(load_before, load_after),
        facts=_in_order([each for each in found if isinstance(each, Facts)]),
        rows=[each for each in found if isinstance(each, Row)],
        curves=[each for each in found if isinstance(each, Curve)],
        url_cost=speed.url_cost(SOURCES[0]),
        mail_cost=speed.mail_cost(SOURCES[-1]),
        peaks={shape: memory.peak_ratio(shape) for shape in memory.SHAPES},
        minutes=(time.monotonic() - start) / 60.0,
        absent=[] if bogofilter.is_installed() else [NO_BOGOFILTER],
    )


def _in_order(found: list[Facts]) -> list[Facts]:
    return sorted(found, key=lambda facts: sources.STREAMS.index(facts.stream))


if __name__ == "__main__":
    main()
