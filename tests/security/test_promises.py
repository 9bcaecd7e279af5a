"""SECURITY.md names tests and settings that exist."""

import re

import pytest

from app.settings import Settings
from tests.services import ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
CLIENTS_OWN = {"SLUICE_KEY_FILE"}  # read by the commands that call a service


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[\w/.]+)`", PAGE))))
def test_every_named_test_exists(path: str) -> None:
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"SLUICE_[A-Z_]+", PAGE)) - CLIENTS_OWN))
def test_every_named_setting_exists(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert name.removeprefix("SLUICE_").removesuffix("_FILE").lower() in Settings.model_fields


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md"])
def test_other_pages_link_to_it(page: str) -> None:
    assert "SECURITY.md)" in (ROOT / page).read_text(encoding="utf-8")
