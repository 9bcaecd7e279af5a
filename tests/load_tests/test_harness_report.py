"""Sections of a page, tables, and targets with their exit code."""

from pathlib import Path

import pytest

from load_tests.harness.report import DOCS, Report, Target, at_least, at_most, exit_code, shown, table_of, write_section

PAGE = "# Page\n\n<!-- one -->\nold\n<!-- /one -->\n\nBetween.\n\n<!-- two -->\n<!-- /two -->\n"
UNKNOWN = Target("a peer", "at least 1 x", "not measured", None)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


@pytest.mark.parametrize(("name", "old"), [("one", "old\n"), ("two", "")])
def test_a_section_is_replaced_and_the_rest_stays(page: Path, name: str, old: str) -> None:
    expected = PAGE.replace(f"<!-- {name} -->\n{old}", f"<!-- {name} -->\nnew\n\nlines\n")
    for _ in range(2):
        write_section(name, "new\n\nlines\n", page)
        assert page.read_text() == expected


@pytest.mark.parametrize("name", ["three", "/one"])
def test_an_unknown_section_is_named(page: Path, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        write_section(name, "text", page)
    assert page.read_text() == PAGE


@pytest.mark.parametrize(
    ("page", "names"),
    [("performance", ("peers", "service", "scale", "load", "soak")), ("scaling", ("plan", "simulation", "haproxy"))],
)
def test_a_page_has_the_marks_of_every_section_alone_on_their_lines(page: str, names: tuple[str, ...]) -> None:
    lines = (DOCS / f"{page}.md").read_text(encoding="utf-8").splitlines()
    for name in names:
        assert lines.count(f"<!-- {name} -->") == lines.count(f"<!-- /{name} -->") == 1
        assert lines.index(f"<!-- {name} -->") < lines.index(f"<!-- /{name} -->")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], 0),
        ([at_most("x", 2.0, 2.0), at_least("y", 2.0, 2.0)], 0),
        ([at_most("x", 2.0, 2.1)], 1),
        ([at_least("y", 2.0, 1.9), UNKNOWN], 1),
        ([UNKNOWN], 0),
    ],
)
def test_a_missed_target_decides_the_exit_code(found: list[Target], expected: int) -> None:
    assert exit_code(found) == expected


def test_a_report_states_targets_and_misses_and_fills_its_section(page: Path) -> None:
    report = Report("one", ["A machine"], [at_most("x", 2.0, 2.1)], {"Part": "text"}, page)
    assert report.publish(write=False) == 1
    assert page.read_text() == PAGE
    report.publish(write=True)
    written = page.read_text()
    for line in ("- A machine", "| x | at most 2 x | 2.1 x | **no** |", "- x: wanted at most 2 x, measured 2.1 x."):
        assert line in written
    assert "### Part\ntext\n<!-- /one -->" in written


def test_a_table_shows_each_row_and_what_is_missing() -> None:
    columns = (("n", lambda row: row), ("half", lambda row: shown(row / 2 if row else None, ".1f", " s", missing="-")))
    assert table_of([1, 0], *columns) == "| n | half |\n| --- | --- |\n| 1 | 0.5 s |\n| 0 | - |"
