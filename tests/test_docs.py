"""The manual names everything that a user can set or choose."""

import re
from pathlib import Path

import pytest

from app.cli.options import SETTINGS
from app.learning.config import DEFAULTS, RULES, SERVICE_ONLY
from kernels.registry import ALGORITHMS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


@pytest.mark.parametrize("name", [*ALGORITHMS, *DEFAULTS])
def test_the_manual_names_every_algorithm_and_setting(name: str) -> None:
    assert f"`{name}" in (DOCS / "algorithms.md").read_text()


def test_every_setting_has_a_rule_and_an_option_of_the_command_line() -> None:
    assert DEFAULTS.keys() == RULES.keys() == SETTINGS.keys() | {"algorithm"} | SERVICE_ONLY


def test_the_command_line_does_not_offer_settings_of_the_service_only() -> None:
    assert not SETTINGS.keys() & SERVICE_ONLY


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:app|kernels|tests|docs|monitoring|load_tests|experiments)/[\w./-]*\w)/?`", text)
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert [path for path in linked if not (page.parent / path).exists()] == []
