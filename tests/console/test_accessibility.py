"""Everybody can use every page: axe-core finds nothing, light or dark, and a keyboard reaches everything."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.console.axe import axe
from tests.console.conftest import PHONE, WIDE, Windows
from tests.console.demo import addresses, demo_service
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
SETTLE_MILLISECONDS = 1000
PAGES = pytest.mark.parametrize("name", addresses())
NARROW = {"width": 360, "height": 740}
SIZES = {"wide": WIDE, "phone": PHONE}

# What a person must be able to reach by the tabulator key: what can be pressed or filled in, and is shown.
REACHABLE = """() => {
  const wanted = "a[href], button, input, select, textarea, summary, [tabindex='0'], [role=slider]";
  return [...document.querySelectorAll(wanted)].filter((each) => {
    const style = getComputedStyle(each);
    const group = each.type === "radio" && each.name && !each.checked;  // arrows move within a group
    const isShown = each.checkVisibility({ visibilityProperty: true });
    return isShown && !each.disabled && each.tabIndex >= 0
      && !group && style.pointerEvents !== "none" && !each.closest("[inert]");
  }).length;
}"""
BEGIN = """() => {  // the next tabulator key begins at the top
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute("tabindex");
  scrollTo(0, 0);
}"""
FOCUS = """() => {
  const each = document.activeElement;
  if (!each || each === document.body) return null;
  window.__reached ??= new Set();
  const isNew = !window.__reached.has(each) || each.type?.startsWith("date");  // a date has several parts
  window.__reached.add(each);
  const box = each.getBoundingClientRect();
  const style = getComputedStyle(each);
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  return {
    isNew,
    number: [...window.__reached].indexOf(each),
    what: `${each.localName}#${each.id}.${each.className} ${each.textContent.trim().slice(0, 30)}`,
    isSeen: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    hasRing: ring || style.boxShadow !== "none",
  };
}"""
# Layout shift that nobody asked for, as the browser measures it.
SHIFT = """() => new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) if (!each.hadRecentInput) sum += each.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(sum), 50);
})"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with demo_service(tmp_path_factory.mktemp("service"), urls=300) as service:
        yield service


def show(windows: Windows, service: Service, name: str, size: dict[str, int]) -> Page:
    page = windows.open(service, addresses()[name], viewport=size, reduced_motion="reduce")
    page.wait_for_timeout(SETTLE_MILLISECONDS)
    return page


@PAGES
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(windows: Windows, demo: Service, name: str, size: str) -> None:
    page = show(windows, demo, name, SIZES[size])
    assert axe(page) == []


@PAGES
def test_the_tabulator_key_reaches_everything_and_the_focus_is_seen(windows: Windows, demo: Service, name: str) -> None:
    page = show(windows, demo, name, WIDE)
    page.evaluate(BEGIN)
    wanted = page.evaluate(REACHABLE)
    reached = set()
    for _ in range(wanted + 40):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        if focus is None or not focus["isNew"]:
            break
        assert focus["isSeen"], focus["what"]
        assert focus["hasRing"], focus["what"]
        reached.add(focus["number"])
    assert len(reached) >= wanted


@PAGES
def test_the_first_tabulator_leads_past_the_menu(windows: Windows, demo: Service, name: str) -> None:
    page = show(windows, demo, name, WIDE)
    page.evaluate(BEGIN)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@PAGES
def test_a_page_has_one_title_and_its_landmarks(windows: Windows, demo: Service, name: str) -> None:
    page = show(windows, demo, name, WIDE)
    assert page.locator("h1:visible").count() == 1
    assert page.get_by_role("main").count() == 1
    assert page.title().endswith(" · Sluice")
    assert page.get_by_role("navigation", name="Pages", exact=True).count() == (name != "sign-in")


@PAGES
@pytest.mark.parametrize("size", ["wide", "phone", "narrow", "large"])
def test_a_page_fits_its_window(windows: Windows, demo: Service, name: str, size: str) -> None:
    sizes = SIZES | {"narrow": NARROW, "large": {"width": 2560, "height": 1300}}
    page = show(windows, demo, name, sizes[size])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@PAGES
def test_nothing_moves_while_a_page_loads(windows: Windows, demo: Service, name: str) -> None:
    page = show(windows, demo, name, WIDE)
    assert page.evaluate(SHIFT) < 0.1


@pytest.mark.parametrize("name", ["review", "history", "overview"])
def test_text_of_twice_the_size_still_fits(windows: Windows, demo: Service, name: str) -> None:
    """A window of half the width is what zooming in to 200% gives."""
    page = show(windows, demo, name, {"width": WIDE["width"] // 2, "height": WIDE["height"] // 2})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_menu_of_a_phone_opens_and_closes_by_keyboard(windows: Windows, demo: Service) -> None:
    page = show(windows, demo, "review", PHONE)
    button, side = page.get_by_role("button", name="Menu"), page.get_by_role("navigation", name="Pages", exact=True)
    assert not side.is_visible()
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    page.get_by_role("link", name="History").focus()
    assert side.is_visible()
    assert axe(page) == []
    page.keyboard.press("Escape")
    page.wait_for_timeout(300)
    assert not side.is_visible()
    assert button.get_attribute("aria-expanded") == "false"


def test_a_dialog_keeps_the_focus_and_gives_it_back(windows: Windows, demo: Service) -> None:
    page = show(windows, demo, "review", WIDE)
    opener = page.get_by_title("Who you are")
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Who you are")
    assert dialog.is_visible()
    assert axe(page) == []
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert page.evaluate("document.activeElement.id") == "who-button"


OPENERS = {
    "review": "#help",
    "history": "#rows tr button, #rows tr a",
    "keys": "#create",
    "overview": "#tenant-switch",
    "bulk": "#who-button",
}


@pytest.mark.parametrize("name", OPENERS)
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_in_what_opens(windows: Windows, demo: Service, name: str, size: str) -> None:
    page = show(windows, demo, name, SIZES[size])
    page.locator(OPENERS[name]).first.click()
    page.wait_for_timeout(SETTLE_MILLISECONDS)
    assert page.locator("dialog[open]").count() == 1
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
