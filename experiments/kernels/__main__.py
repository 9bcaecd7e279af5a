"""Measure the kernels beside other libraries and the limit, and write docs/performance-kernels.md."""

import argparse
import sys

from experiments.kernels import rivals
from experiments.kernels.fresh_process import growths, startup
from experiments.kernels.report import Results, draw, sections, targets
from experiments.kernels.speed import SEVERAL, Speed, best_seconds, candidates, filled_model, measure, speeds
from experiments.kernels.zipf import filling, zipf_stream
from load_tests.harness.machine import Machine
from load_tests.harness.report import DOCS, publish, say

PAGE = DOCS / "performance-kernels.md"
PLOT = DOCS / "performance-features.svg"
PACKAGES = ("numpy", "numba", "llvmlite", "msgspec", "scikit-learn", "vowpalwabbit", "river")
MAIN = ("cs-ssol", "fsol")
FEATURES = 16_000_000
EXAMPLES = 100_000
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 13_400_000)  # the last: just before growth
QUICK = 16  # how many times smaller a trial is
MORE_ROUNDS = 15  # for kernels alone, which take little time


def main() -> int:
    parser = argparse.ArgumentParser(prog="experiments.kernels", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial with small sizes, which writes nothing")
    smaller = QUICK if parser.parse_args().quick else 1
    results = run(FEATURES // smaller, EXAMPLES // smaller)
    found = targets(results)
    if smaller == 1:
        draw(results.scaling, PLOT)
    return publish(PAGE, sections(results, found), found, write=smaller == 1)


def run(features: int, examples: int) -> Results:
    """Measure everything, the quiet things first."""
    machine = Machine(*PACKAGES)
    say("starting fresh processes, with compiled kernels and without")
    start = startup()
    say("learning dicts, beside river and msgspec")
    dict_times = rivals.microseconds_per_example()
    say("growing a table in a fresh process")
    grown = growths()
    large, rival_costs = beside_rivals(features, examples)
    stream, every_feature = zipf_stream(features, examples), filling(features)
    others: list[Speed] = []
    for name in (name for name in SEVERAL if name not in MAIN):  # one at a time, since each has a large table
        say(f"learning with {name}")
        others += measure((name,), stream, every_feature)
    scaling = list(large)
    for size in (size for size in SIZES if size < features):
        say(f"learning over {size:,} features")
        scaling += measure(MAIN, zipf_stream(size, examples), filling(size))
    return Results(
        machine=machine.facts("1 to 2"),
        speeds=[*large, *others],
        rivals=rival_costs,
        dicts=dict_times,
        growths=grown,
        startup=start,
        scaling=sorted(scaling, key=lambda speed: (MAIN.index(speed.algorithm), speed.features)),
    )


def beside_rivals(features: int, examples: int) -> tuple[list[Speed], dict[str, rivals.Cost]]:
    say(f"drawing {examples:,} examples over {features:,} features, and filling tables with all of these")
    stream = zipf_stream(features, examples)
    every_feature = filling(features)
    models = {name: filled_model(name, every_feature) for name in MAIN}
    say("writing VW's cache")
    with rivals.rivals(stream) as others:
        say("learning, in turns with VW, scikit-learn and river")
        seconds = best_seconds({**candidates(models, stream), **others}, before_round=stream.flip_labels)
    say("learning, in turns with the limit")
    again = best_seconds(candidates(models, stream), MORE_ROUNDS, stream.flip_labels)
    return speeds(models, stream, again), rivals.costs(seconds, stream)


if __name__ == "__main__":
    sys.exit(main())
