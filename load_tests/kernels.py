"""Measure the kernels beside other libraries and the limit; print the ratios, write docs/performance-kernels.md.

Ends with 1 if a target was missed.
"""

import argparse
import sys
import time
from pathlib import Path

from load_tests import dicts, memory, plot, rivals, startup
from load_tests.harness import machine
from load_tests.harness.report import exit_code, targets_table
from load_tests.harness.rounds import best_seconds, better
from load_tests.page import performance_page
from load_tests.results import Results, Startup, targets
from load_tests.speed import SEVERAL, Contest, Speed, measure
from load_tests.zipf import filling, zipf_stream

DOCS = Path(__file__).parent.parent / "docs"
PAGE = "performance-kernels.md"
PLOT = "performance-features.svg"
PACKAGES = ("numpy", "numba", "llvmlite", "msgspec", "scikit-learn", "vowpalwabbit", "river")
MAIN = ("cs-ssol", "fsol")
FEATURES = 16_000_000
EXAMPLES = 100_000
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 13_400_000)  # the last: as full as can be
QUICK = 16  # how many times smaller a trial run is
MORE_ROUNDS = 15  # where only kernels run, which is soon done

STARTED = time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(prog="load_tests.kernels", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial with small sizes, which writes nothing")
    smaller = QUICK if parser.parse_args().quick else 1
    results = run(FEATURES // smaller, EXAMPLES // smaller)
    page = performance_page(results, PLOT)
    print(f"\n{page}")
    if smaller == 1:
        (DOCS / PAGE).write_text(page, encoding="utf-8")
        plot.draw(results.scaling, DOCS / PLOT)
        say(f"wrote docs/{PAGE}")
    found = targets(results)
    print(f"\n{targets_table(found)}")
    sys.exit(exit_code(found))


def run(features: int, examples: int) -> Results:
    """Measure everything, the quiet things first."""
    load_before = machine.load_average()
    say("starting fresh processes, with compiled kernels and without")
    start = Startup(*startup.warm_seconds(), startup.cold_seconds())
    say("learning dicts, beside river and msgspec")
    dict_times = dicts.microseconds_per_example()
    say("growing a table in a fresh process")
    growths = memory.growths()
    large, rival_costs = beside_rivals(features, examples)
    others = other_learners(features, examples)
    scaling = [*smaller_tables(features, examples), *large]
    return Results(
        machine=machine.description(PACKAGES),
        load_averages=(load_before, machine.load_average()),
        speeds=[*large, *others],
        rivals=rival_costs,
        dicts=dict_times,
        growths=growths,
        startup=start,
        scaling=sorted(scaling, key=lambda speed: (MAIN.index(speed.algorithm), speed.features)),
    )


def beside_rivals(features: int, examples: int) -> tuple[list[Speed], dict[str, rivals.Cost]]:
    """The main learners, their limits and the other libraries take turns."""
    say(f"drawing {examples:,} examples over {features:,} features, and filling tables with all of these")
    stream = zipf_stream(features, examples)
    contest = Contest(MAIN, stream, filling(features))
    say("writing VW's cache")
    with rivals.rivals(stream) as others:
        say("learning, in turns with VW, scikit-learn and river")
        seconds = best_seconds({**contest.candidates(), **others}, before_round=stream.flip_labels)
    say("learning, in turns with the limit")
    again = best_seconds(contest.candidates(), MORE_ROUNDS, stream.flip_labels)
    return contest.speeds(better(seconds, again)), rivals.costs(seconds, stream)


def other_learners(features: int, examples: int) -> list[Speed]:
    """One at a time, since each has a large table."""
    stream, every_feature = zipf_stream(features, examples), filling(features)
    found = []
    for name in SEVERAL:
        if name not in MAIN:
            say(f"learning with {name}")
            found += measure((name,), stream, every_feature)
    return found


def smaller_tables(features: int, examples: int) -> list[Speed]:
    found = []
    for size in SIZES:
        if size < features:
            say(f"learning over {size:,} features")
            found += measure(MAIN, zipf_stream(size, examples), filling(size))
    return found


def say(text: str) -> None:
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)


if __name__ == "__main__":
    main()
