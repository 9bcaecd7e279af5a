"""Sections of a page that several commands write."""

from pathlib import Path

import pytest

from load_tests.harness.report import PERFORMANCE, write_section

PAGE = "# Page\n\n<!-- one -->\nold\n<!-- /one -->\n\nBetween.\n\n<!-- two -->\n<!-- /two -->\n"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_a_section_is_replaced_and_the_rest_stays(page: Path) -> None:
    write_section("one", "new\n\nlines\n", page)
    assert page.read_text() == PAGE.replace("old", "new\n\nlines")


def test_an_empty_section_is_filled(page: Path) -> None:
    write_section("two", "text", page)
    assert page.read_text() == PAGE.replace("<!-- two -->\n", "<!-- two -->\ntext\n")


def test_writing_twice_changes_nothing_more(page: Path) -> None:
    write_section("one", "new", page)
    first = page.read_text()
    write_section("one", "new", page)
    assert page.read_text() == first


@pytest.mark.parametrize("name", ["three", "/one"])
def test_an_unknown_section_is_named(page: Path, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        write_section(name, "text", page)
    assert page.read_text() == PAGE


@pytest.mark.parametrize("name", ["peers", "service", "scale", "load", "soak"])
def test_the_page_has_every_section(name: str) -> None:
    assert PERFORMANCE.read_text().count(f"<!-- {name} -->\n") == 1
    assert PERFORMANCE.read_text().count(f"<!-- /{name} -->\n") == 1
