"""A real Chromium, a real service, and pages that are watched.

Playwright's loop counts as running in the test's thread: what calls `asyncio.run` must do so in another thread, as
`in_thread` does.
"""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.console.tenants import Keys
from tests.console.watch import Watch
from tests.services import Service

Result = TypeVar("Result")
FLAGS = (
    "--no-sandbox",  # Chromium's own sandbox does not work for root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def service(tmp_path: Path, windows: "Windows") -> Iterator[Service]:
    """A service of the test's own, without keys: everybody may do everything until the test creates one."""
    with Service(tmp_path / "service").start() as service:
        yield service
        windows.close()  # first: they would notice that it is gone


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for all tests of a module that do not disturb each other."""
    with Service(tmp_path_factory.mktemp("service")).start() as service:
        yield service


@pytest.fixture
def keys(service: Service) -> Keys:
    return Keys(service)


@dataclass(frozen=True)
class Windows:
    """Opens pages of a service, each in a browser context (cookies, storage) of its own, and watches them."""

    browser: Browser
    watches: list[Watch]

    def open(self, service: Service, path: str = "/console", **options: Any) -> Page:  # noqa: ANN401 - Playwright's
        """Return a new page that shows a path; `options` are those of a browser context."""
        context = self.browser.new_context(**({"viewport": WIDE, "base_url": service.url} | options))
        context.set_default_timeout(15_000)
        watch = Watch(service.url)
        watch.attach(context)
        self.watches.append(watch)
        page = context.new_page()
        page.goto(path)
        return page

    def close(self) -> None:
        """Close every page."""
        for context in self.browser.contexts:
            context.close()


@pytest.fixture
def windows(browser: Browser) -> Iterator[Windows]:
    """Fails the test if a page had a problem that the test does not expect."""
    opened = Windows(browser, [])
    yield opened
    opened.close()
    for watch in opened.watches:
        watch.check()


@pytest.fixture
def page(windows: Windows, service: Service) -> Page:
    """A page of the test's own service. `watch` has its requests, and can be told which problems to expect."""
    return windows.open(service, "/console/sign-in")


@pytest.fixture
def watch(page: Page, windows: Windows) -> Watch:
    assert page is not None
    return windows.watches[0]


def sign_in(page: Page, secret: str, path: str = "/console") -> None:
    """Sign in with a key, as a person does, and go to a page."""
    page.goto("/console/sign-in")
    page.get_by_label("Key").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/sign-in" not in url)
    page.goto(path)


def in_thread(call: Callable[..., Result], *arguments: object) -> Result:
    """Call what runs an event loop of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call, *arguments).result()
