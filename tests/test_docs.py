"""The manual names everything that a user can set or choose."""

from pathlib import Path

import pytest

from app.cli.options import SETTINGS
from app.learning.config import DEFAULTS, RULES, SERVICE_ONLY
from kernels.registry import ALGORITHMS

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("name", [*ALGORITHMS, *DEFAULTS])
def test_the_manual_names_every_algorithm_and_setting(name: str) -> None:
    assert f"`{name}" in (DOCS / "algorithms.md").read_text()


def test_every_setting_has_a_rule_and_an_option_of_the_command_line() -> None:
    assert DEFAULTS.keys() == RULES.keys() == SETTINGS.keys() | {"algorithm"} | SERVICE_ONLY


def test_the_command_line_does_not_offer_settings_of_the_service_only() -> None:
    assert not SETTINGS.keys() & SERVICE_ONLY
