"""SECURITY.md names the tests that hold its promises, and settings that there are."""

import re

import pytest

from app.settings import Settings
from tests.services import ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
CLIENTS_OWN = {"SLUICE_KEY_FILE"}  # of the commands that ask a service


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[\w/.]+)`", PAGE))))
def test_a_test_that_is_named_is_there(path: str) -> None:
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"SLUICE_[A-Z_]+", PAGE)) - CLIENTS_OWN))
def test_a_setting_that_is_named_is_there(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert name.removeprefix("SLUICE_").removesuffix("_FILE").lower() in Settings.model_fields


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md"])
def test_it_is_found_from(page: str) -> None:
    assert "SECURITY.md)" in (ROOT / page).read_text(encoding="utf-8")
