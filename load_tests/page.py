"""The page docs/performance-kernels.md: the tables of a run between texts that do not change."""

from collections.abc import Iterable

from load_tests import rivals
from load_tests.harness.report import machine_list, misses, table, targets_table
from load_tests.memory import LEAST_FEATURES, LEAST_FEATURES_FOR_RSS
from load_tests.results import Results, targets
from load_tests.speed import Speed
from load_tests.zipf import NONZEROS

HEAD = """# Performance of the kernels

Written by `make bench-kernels`, which measures everything below in one run; no number is entered by hand. To measure on
your machine, run it again (some minutes, 4 GB of memory). All ratios are of measurements that took turns. The service
has a page of its own: [performance.md](performance.md)."""

METHOD = f"""## How it was measured
- **The examples** have {NONZEROS} different non-zeros each, drawn by Zipf's law (the k-th most frequent feature with a
  probability of about 1/k), and length 1. Every round has the labels of the round before, flipped: most examples then
  have a loss and must be learnt, which is the dearest case.
- **The table** has learnt every feature before, and has grown on the way as it does in use.
- **The limit** is a kernel that only reads and writes the same rows in the same order. It is told where they are and
  fetches them ahead, at the best of several distances, or not at all where that is faster.
- **Vowpal Wabbit** learns from its binary cache, in its own loop, with a second thread that reads ahead: hence
  two times, by the clock and of both cores. Counted is what further passes take, because the other learners find their
  memory warm, too; a whole first run is listed beside it.
- **scikit-learn** gets all examples as one sparse matrix in one call, unshuffled. **river** gets dicts, and only the
  first {rivals.RIVER_EXAMPLES} examples.
- **Starts** are of fresh processes, the interpreter's own start not counted, and without scipy, which Numba imports
  where it finds it: the environment that Sluice runs in has none.
- What is compared takes turns, round by round, and the best round of each counts (for starts: the median)."""

WHY = """## Why it is fast
A large model costs what memory costs: nearly every non-zero of an example lies on a cache line of its own. So all that
belongs to a feature lies together, it is found once, and nobody waits for it.
- **One row per feature.** Key and state lie side by side in an open-addressing table: to find a feature is to have its
  state, for one cache miss. The upper bits of the hash choose the place, and rows keep the order of their keys: a
  search stops at the first smaller key, empty or not, with one comparison per row. The first two comparisons have no
  branch: a mispredicted one costs more than both.
- **Fetched ahead.** One pass finds the rows of an example, copies their state into a small buffer, and asks for the
  rows of non-zeros to come, beyond the end of the example. Small tables stay in the cache anyway and do without.
- **Arithmetic on the buffer.** What an algorithm computes runs over short arrays in the nearest cache. Sums run in four
  lanes, always in the same order: fast, and the same bits on every machine. There is no `fastmath`, because a replay
  must be bit-identical.
- **Grown in place.** A large table is one mapping in huge pages, which the system lengthens by moving pages: the old
  and the new table never exist at once.
- **Little around it.** A dict is read where Python keeps it, its names hashed in the same call, and the example is
  sorted by spreading its hashes."""


def performance_page(results: Results, plot: str) -> str:
    """The whole page; `plot` is the picture's file name."""
    found = targets(results)
    parts = [
        HEAD,
        machine_list(results.machine, results.load_averages, own="1 to 2"),
        "## Targets\n" + targets_table(found) + "\n\n" + misses(found),
        "## Every learner\n" + _learners_table(results.speeds),
        "## Other libraries\n" + _rivals_table(results),
        "## One example as a dict\n" + _dicts_table(results.dicts),
        "## Memory\n" + _memory_table(results),
        "## Start\n" + _startup(results),
        "## Cost and the number of features\n" + _scaling(results.scaling, plot),
        WHY,
        METHOD,
    ]
    return "\n\n".join(parts) + "\n"


def _learners_table(speeds: Iterable[Speed]) -> str:
    rows = (
        (
            s.algorithm,
            s.row_bytes,
            f"{s.nanoseconds:.1f}",
            f"{s.limit_nanoseconds:.1f}",
            f"{s.ratio:.2f}",
            f"{s.learnt:.0%}",
        )
        for s in speeds
    )
    header = ("learner", "bytes per row", "ns per non-zero", "limit, ns", "ratio", "examples with a loss")
    return f"Stream form, {next(iter(speeds)).features:,} features.\n\n{table(header, rows)}"


def _rivals_table(results: Results) -> str:
    ours = results.speed("cs-ssol").nanoseconds
    own = {speed.algorithm.upper(): rivals.Cost(speed.nanoseconds, speed.nanoseconds) for speed in results.speeds[:2]}
    rows = (
        (
            name,
            f"{cost.elapsed:.1f}",
            f"{cost.elapsed / ours:.1f}",
            f"{cost.processor:.1f}",
            f"{cost.processor / ours:.1f}",
        )
        for name, cost in (own | results.rivals).items()
    )
    header = ("learner", "ns per non-zero by the clock", "times CS-SSOL", "ns of all cores", "times CS-SSOL")
    return table(header, rows)


def _dicts_table(found: dict[str, float]) -> str:
    return table(("100 features", "microseconds"), ((name, f"{taken:.1f}") for name, taken in found.items()))


def _memory_table(results: Results) -> str:
    rows = (
        (
            f"{g.features:,}",
            f"{g.table_bytes_per_feature:.1f}",
            "" if g.peak_bytes_per_feature is None else f"{g.peak_bytes_per_feature:.1f}",
        )
        for g in results.growths
    )
    header = ("features at a doubling", "table, bytes per feature", "peak of the process, bytes per feature")
    text = (
        "CS-SSOL meeting ever new features; just after its table doubled, a feature costs most. "
        f"Left out: fewer than {LEAST_FEATURES} features, which cost more each (a table has some kilobytes), "
        f"and the peak of the process below {LEAST_FEATURES_FOR_RSS:,}, where other things hide the table."
    )
    return f"{text}\n\n{table(header, rows)}"


def _startup(results: Results) -> str:
    start = results.startup
    return (
        f"Import to first score: {start.warm:.2f} s with compiled kernels; importing Numba alone: {start.numba:.2f} s. "
        f"Compiling what the first score needs takes {start.cold:.0f} s, once; `make setup` does it."
    )


def _scaling(scaling: list[Speed], plot: str) -> str:
    rows = (
        (s.algorithm, f"{s.features:,}", f"{s.load:.2f}", f"{s.nanoseconds:.1f}", f"{s.limit_nanoseconds:.1f}")
        for s in scaling
    )
    fullest = max((s for s in scaling if s.algorithm == "cs-ssol"), key=lambda s: s.load)
    text = (
        f"How full a table is matters, too: in a fuller one rows lie farther from their places. It doubles at a load "
        f"of 0.8; just before, at {fullest.features:,} features, CS-SSOL takes {fullest.nanoseconds:.1f} ns, "
        f"{fullest.ratio:.1f} times the limit."
    )
    rows_table = table(("learner", "features", "load of the table", "ns per non-zero", "limit, ns"), rows)
    return f"![Time per non-zero against the number of features]({plot})\n\n{text}\n\n{rows_table}"
