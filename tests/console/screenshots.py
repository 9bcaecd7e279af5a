"""`python -m tests.console.screenshots [FOLDER] [png]`: every page, light, dark and on a phone, for docs/console.md."""

import base64
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.console.conftest import FLAGS, PHONE, WIDE
from tests.console.demo import addresses, demo_service
from tests.services import ROOT, Service

FOLDER = ROOT / "docs" / "console"
SETTLE_MILLISECONDS, COMPARE_MILLISECONDS = 1200, 4000
QUALITY = 70  # of WebP, which is half as large as JPEG or PNG
FORMS: dict[str, tuple[Any, Any]] = {"light": (WIDE, "light"), "dark": (WIDE, "dark"), "phone": (PHONE, "light")}
NO_MOTION: dict[str, Any] = {"reduced_motion": "reduce", "locale": "en-GB", "timezone_id": "UTC"}


def _label_some(page: Page) -> None:
    for key in "nnan":
        page.keyboard.press(key)
        page.wait_for_timeout(500)


def _open_disagreement(page: Page) -> None:
    page.locator("#filter-state").select_option("disagreements")
    page.wait_for_timeout(SETTLE_MILLISECONDS)
    page.locator("#rows tr button, #rows tr a").first.click()


def _compare(page: Page) -> None:
    page.get_by_label("Algorithm").select_option("ftrl")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_timeout(COMPARE_MILLISECONDS)
    page.mouse.wheel(0, 380)


def _try_example(page: Page) -> None:
    page.get_by_label("Input to try").fill("http://paystone-verify.fernmarket9.test/signin?session=5a1f09c2")
    page.get_by_role("button", name="Try it", exact=True).click()


PICTURES = addresses() | {"history-label": addresses()["history"]}
PREPARE: dict[str, Callable[[Page], None]] = {
    "review": _label_some,
    "history-label": _open_disagreement,
    "what-if": _compare,
    "try": _try_example,
}


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run Debian's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


def take(browser: Browser, service: Service, folder: Path, kind: str = "webp") -> list[Path]:
    """Take a picture of every page in every form; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    taken = []
    for form, (size, scheme) in FORMS.items():
        context = browser.new_context(viewport=size, color_scheme=scheme, base_url=service.url, **NO_MOTION)
        context.add_init_script("localStorage.setItem('sluice-moderator', 'ada')")
        for name, address in PICTURES.items():
            page = context.new_page()
            page.goto(address)
            page.wait_for_timeout(SETTLE_MILLISECONDS)
            if name in PREPARE:
                PREPARE[name](page)
                page.wait_for_timeout(SETTLE_MILLISECONDS)
            taken.append(folder / f"{name}-{form}.{kind}")
            taken[-1].write_bytes(_picture(page, kind))
            page.close()
        context.close()
    return taken


def _picture(page: Page, kind: str) -> bytes:
    """Return what a page shows; Playwright itself knows no WebP."""
    wanted = {"format": kind} | ({"quality": QUALITY} if kind == "webp" else {})
    session = page.context.new_cdp_session(page)
    return base64.b64decode(session.send("Page.captureScreenshot", wanted)["data"])


def main(folder: str = str(FOLDER), kind: str = "webp") -> None:
    """Replace all pictures."""
    with tempfile.TemporaryDirectory() as name, demo_service(Path(name)) as service, chromium() as browser:
        for path in take(browser, service, Path(folder), kind):
            print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB")  # noqa: T201 - the progress of a tool


if __name__ == "__main__":
    main(*sys.argv[1:])
