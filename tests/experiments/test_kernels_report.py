"""The page on the kernels: its targets and its sections."""

from dataclasses import replace

import pytest

pytest.importorskip("vowpalwabbit")  # only the benchmarks install the libraries to compare with

from experiments.kernels import rivals
from experiments.kernels.fresh_process import Growth, Startup
from experiments.kernels.report import Results, sections, targets
from experiments.kernels.speed import Speed
from load_tests.harness.report import DOCS, filled

LARGE = Speed("cs-ssol", 16_000_000, 0.48, 24, 10.0, 5.0, 1.0)
SMALL = replace(LARGE, features=10_000, nanoseconds=6.0, limit_nanoseconds=1.4)
VW = rivals.Cost(elapsed=25.0, processor=40.0)


@pytest.fixture
def results() -> Results:
    return Results(
        machine=["A machine"],
        speeds=[LARGE, replace(LARGE, algorithm="fsol", row_bytes=16)],
        rivals={rivals.VW_DEFAULT: VW, rivals.VW_FTRL: replace(VW, elapsed=40.0)},
        dicts={rivals.DICT_SLUICE: 10.0, rivals.DICT_JSON: 14.0, rivals.DICT_RIVER: 400.0},
        growths=[Growth(819, 63.8, None), Growth(104_793, 60.3, 65.0)],
        startup=Startup(0.3, 0.5, 11.0),
        scaling=[SMALL, LARGE],
    )


def test_a_target_is_met_or_not_or_not_known(results: Results) -> None:
    assert {target.text.partition(" (")[0]: target.met for target in targets(results)} == {
        "CS-SSOL, stream form, beside the limit": True,
        "FSOL, stream form, beside the limit": True,
        "CS-SSOL faster than VW's default, by processor time": True,
        "CS-SSOL faster than VW's default, by the clock": False,
        "CS-SSOL faster than VW --ftrl, by processor time": True,
        "CS-SSOL faster than VW --ftrl, by the clock": None,  # VW had one core only
        "A dict of 100 names, faster than river's FTRL": True,
        "A dict of 100 names, beside parsing its JSON": True,
        "Memory per feature of a second-order model": False,  # the peak counts, too
        "Import to first score, beside importing Numba": True,
        "CS-SSOL beyond 10,000 features: dearer only by cache misses": True,
    }


def test_the_page_has_every_section(results: Results) -> None:
    page = filled(DOCS / "performance-kernels.md", sections(results, targets(results)))
    for text in ("A machine", "| cs-ssol | 24 | 10.0 | 5.0 | 2.00 | 100% |", "| 104,793 | 60.3 | 65.0 |"):
        assert text in page
