"""Pictures of every page: the ones of the manual are complete and small, and they can be taken again."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.console.demo import demo_service
from tests.console.screenshots import FOLDER, FORMS, PICTURES, take
from tests.services import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]
NAMES = {f"{name}-{form}.webp" for name in PICTURES for form in FORMS}
MOST_BYTES = 2_500_000  # of all pictures of the manual


def test_the_manual_shows_every_page_light_dark_and_on_a_phone() -> None:
    shown = set(re.findall(r'"console/([\w-]+\.webp)"', (ROOT / "docs" / "console.md").read_text()))
    assert {path.name for path in FOLDER.iterdir()} == shown == NAMES
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= MOST_BYTES


def test_every_picture_can_be_taken_again(browser: Browser, tmp_path: Path) -> None:
    """They stay in build/console: a person looks at them before they go into the manual."""
    with demo_service(tmp_path / "service") as service:
        taken = take(browser, service, ROOT / "build" / "console")
    assert {path.name for path in taken} == NAMES
    for path in taken:
        data = path.read_bytes()
        assert data[:4] + data[8:12] == b"RIFFWEBP"
        assert len(data) > 3000, f"{path.name} is empty"
