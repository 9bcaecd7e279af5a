import pytest

from load_tests.quality import sources
from load_tests.quality.contenders.names import OURS, SPARSE
from load_tests.quality.page import cold_table, quality_page, settings_told, stream_table
from load_tests.quality.results import Results, targets
from load_tests.quality.rows import Curve, Facts, Figures, Row
from load_tests.quality.sizes import NATURAL, QUICK, RARE
from load_tests.quality.speed import Cost

RIVER = "river"


def figures(error: float, balanced: float) -> Figures:
    return Figures(error, balanced, balanced, error / 2, balanced, 0.9)


def row(contender: str, ratio: str, *runs: Figures, examples: int = 50_000, stream: str = sources.PDD) -> Row:
    return Row(stream, contender, ratio, {"lr": 1.0} if contender == RIVER else {}, examples, list(runs))


@pytest.fixture
def results() -> Results:
    return Results(
        sizes=QUICK,
        machine=["A machine"],
        load_averages=(0.0, 1.0),
        facts=[Facts(sources.PDD, 50_000, 20_000, 1_500_000, 100_000)],
        rows=[
            row(OURS, NATURAL, figures(0.031, 0.969)),
            row(OURS, RARE, figures(0.01, 0.84), figures(0.01, 0.88)),
            row(SPARSE, NATURAL, figures(0.034, 0.965)),
            row(RIVER, NATURAL, figures(0.05, 0.95), examples=20_000),
        ],
        curves=[Curve(sources.PDD, OURS, NATURAL, [0.6, 0.7, None, 0.8])],
        url_cost=Cost(15.0, 10.0, 60.0),
        mail_cost=Cost(4000.0, 1000.0, 10_000.0),
        peaks={"words": 9.0, "HTML": 11.0},
        minutes=20.0,
        absent=["Somebody is missing."],
    )


def test_a_bar_is_met_or_not(results: Results) -> None:
    found = {target.text: (target.measured, target.met) for target in targets(results)}
    assert found["pdd: error"] == ("3.10%", True)
    assert found["pdd: balanced accuracy at 1:99"] == ("86.00%", True)
    assert found["pdd: balanced accuracy lost by 90% sparsity, natural"] == ("0.40 points", False)
    assert found["A URL to features and score, beside urlsplit and tldextract"] == ("1.5 x", True)
    assert found["A mail of 10 KB to features and score, beside the parser"] == ("4 x", False)
    assert found["Peak memory of a mail of 25 MB (worst: HTML)"] == ("11 times its size", False)


def test_a_stream_that_was_not_played_has_no_bar(results: Results) -> None:
    assert not [target for target in targets(results) if "phishstorm" in target.text]


def test_whoever_saw_only_the_beginning_stands_beside_ours_over_the_same(results: Results) -> None:
    table = stream_table(results, sources.PDD)
    assert "| river | 5.00 (first 20,000; Sluice: 1.55) | 95.00 (first 20,000; Sluice: 96.90) | - | - |" in table
    assert "| **Sluice** | 3.10 | 96.90 | 96.90 | 86.00 | 4.00 |  |" in table


def test_ours_stand_first_whoever_ended_first(results: Results) -> None:
    results.rows.reverse()
    first, second, third = stream_table(results, sources.PDD).splitlines()[2:]
    assert (first.split("|")[1], second.split("|")[1]) == (" Sluice, 90% sparsity ", " **Sluice** ")
    assert "river" in third


def test_the_page_has_every_part(results: Results) -> None:
    page = quality_page(results)
    for text in ("## Targets", "### pdd", "## Sparsity", "### URLs, natural", "Somebody is missing.", "**no**"):
        assert text in page
    assert page.count("no claim about production follows from them") == 2


def test_undefined_figures_are_dashes(results: Results) -> None:
    assert "| **Sluice** | 60.00 | 70.00 | - | 80.00 |" in cold_table(results, [sources.PDD], NATURAL)


def test_settings_are_told_once_where_they_are_the_same() -> None:
    natural, rare = row(RIVER, NATURAL), row(RIVER, RARE)
    assert settings_told(natural, rare) == "lr 1.0"
    assert settings_told(natural, Row("s", RIVER, RARE, {"lr": 3.0}, 1, [])) == "natural: lr 1.0; 1:99: lr 3.0"
    assert settings_told(None, None) == ""
