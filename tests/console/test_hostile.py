"""Whatever is sent to be scored, and whatever people call themselves: no page runs, loads or breaks anything for it."""

import base64
from itertools import cycle
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from app.console.menu import TENANT_PAGES, WHOLE_PAGES
from tests.console.conftest import PHONE, WIDE, Windows, sign_in
from tests.console.hostile import FEATURES, INPUTS, LONG_LINE, MAILS, NAMES, TEXTS, URLS
from tests.console.tenants import Keys, configure, predict_all, waiting
from tests.console.watch import Watch
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
HOSTILE, HARMLESS = "hostile", "kindred"  # names of about the same width
LONGEST_NAME = "n" * 128
QUIET, SHORT = 700, 250  # milliseconds in which a page, or an item of it, shows everything
SIZES = pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
SAFE_LINKS = "all => all.map(each => each.href).filter(href => !href.startsWith(location.origin + '/'))"
FOREIGN = "iframe, object, embed, video, audio, base, meta[http-equiv], form[action], [onerror], [onload], [onfocus]"


@pytest.fixture(scope="module")
def filled(shared_service: Service) -> tuple[Service, Keys]:
    """A tenant of hostile inputs, half of them labelled by people with hostile names, and a harmless one like it."""
    keys = Keys(shared_service)
    keys.create(name=NAMES[0])
    for tenant, inputs in (
        (HOSTILE, INPUTS),
        (HARMLESS, [{"url": f"https://a.example/{k}"} for k in range(len(INPUTS))]),
    ):
        configure(shared_service, tenant)
        ids = predict_all(shared_service, tenant, inputs)
        names = cycle(NAMES if tenant == HOSTILE else ["kim"])
        for number, prediction_id in enumerate(ids[::2]):
            label(shared_service, tenant, prediction_id, next(names), 1 if number % 3 else -1)
            if number % 4 == 0:
                label(shared_service, tenant, prediction_id, next(names), -1 if number % 3 else 1)
        for name in NAMES if tenant == HOSTILE else ():
            give = {"tenant": tenant, "label": 1, "features": FEATURES[0], "moderator": name}
            assert shared_service.post("/feedback", give).is_success
    configure(shared_service, LONGEST_NAME)
    for name in NAMES:
        keys.create("feedback", tenants=["*"], name=name)
    return shared_service, keys


def label(service: Service, tenant: str, prediction_id: str, moderator: str, value: int) -> None:
    given = {"tenant": tenant, "prediction_id": prediction_id, "label": value, "moderator": moderator}
    answer = service.post("/feedback", given)
    assert answer.is_success, answer.text


@pytest.fixture
def page(windows: Windows, filled: tuple[Service, Keys]) -> Page:
    service, keys = filled
    page = windows.open(service, "/console/sign-in")
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog says {dialog.message}"))
    sign_in(page, keys.create("admin", "predict", "feedback", "review"))
    return page


def check(page: Page, watch: Watch, where: str, milliseconds: int = QUIET) -> None:
    """Fail if anything was executed, loaded or broken in a page."""
    page.wait_for_timeout(milliseconds)
    watch.check()
    assert watch.violations == [], where
    assert watch.other_hosts() == set(), where
    assert page.evaluate("window.__executed") is None, where
    assert page.locator(FOREIGN).count() == 0, where
    assert page.locator("a[href]").evaluate_all(SAFE_LINKS) == [], where
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{where} is too wide"
    for each in ("header.top", "main"):
        box = page.locator(each).bounding_box()
        assert box is not None
        assert box["x"] >= 0, where
        assert box["x"] + box["width"] <= page.evaluate("innerWidth") + 0.5, f"{each} of {where} is too wide"


@SIZES
@pytest.mark.parametrize("name", [*TENANT_PAGES, *WHOLE_PAGES])
def test_a_page_shows_hostile_content_and_nothing_happens(
    page: Page, watch: Watch, name: str, size: dict[str, int], tmp_path: Path
) -> None:
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    page.goto(f"/console/tenants/{HOSTILE}/{name}" if name in TENANT_PAGES else f"/console/{name}")
    check(page, watch, name)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    check(page, watch, f"the end of {name}")
    page.screenshot(path=tmp_path / f"{name}.png", full_page=True)


def different_pixels(browser: Browser | None, *pictures: bytes) -> int:
    """Return how many pixels of two pictures differ, by more than the smoothing of letters does."""
    assert browser is not None
    page = browser.new_page()
    addresses = [f"data:image/png;base64,{base64.b64encode(picture).decode()}" for picture in pictures]
    found: int = page.evaluate(DIFFERENCE, addresses)
    page.close()
    return found


DIFFERENCE = """async (addresses) => {
  const [first, second] = await Promise.all(addresses.map(async (address) => {
    const picture = new Image();
    picture.src = address;
    await picture.decode();
    const { width, height } = picture;
    const canvas = new OffscreenCanvas(width, height).getContext("2d");
    canvas.drawImage(picture, 0, 0);
    return canvas.getImageData(0, 0, width, height).data;
  }));
  if (first.length !== second.length) return first.length;
  return first.reduce((count, value, place) => count + (Math.abs(value - second[place]) > 32), 0);
}"""


@pytest.mark.parametrize("name", [name for name in TENANT_PAGES if name not in {"try", "bulk"}])
def test_the_frame_of_a_page_looks_as_it_does_around_harmless_content(page: Page, watch: Watch, name: str) -> None:
    pictures = []
    for tenant in (HARMLESS, HOSTILE):
        page.goto(f"/console/tenants/{tenant}/{name}")
        page.wait_for_timeout(QUIET)
        page.evaluate("document.getElementById('queue-count')?.remove()")
        pictures.append((page.locator("#side").screenshot(), page.locator("#sign-out").screenshot()))
    for harmless, hostile in zip(*pictures, strict=True):
        assert different_pixels(page.context.browser, harmless, hostile) == 0
    watch.check()


@SIZES
def test_every_hostile_item_is_reviewed_and_labelled(
    page: Page, watch: Watch, filled: tuple[Service, Keys], size: dict[str, int]
) -> None:
    service, _ = filled
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    tenant = f"{HOSTILE}-{size['width']}"
    configure(service, tenant)
    predict_all(service, tenant, INPUTS)
    assert waiting(service, tenant) == len(INPUTS)
    page.goto(f"/console/tenants/{tenant}/review")
    for number in range(len(INPUTS)):
        expect(page.locator("#decide [data-act=anomaly]")).to_be_enabled()
        for each in page.locator("#item details:not([open]) > summary").all():
            each.click()
        while (rest := page.locator("#item button", has_text="Show all").first).count():
            rest.evaluate("each => each.click()")  # a person's click waits for a megabyte to be laid out
        check(page, watch, f"item {number}", SHORT)
        page.keyboard.press("a" if number % 2 else "n")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    check(page, watch, "an empty queue")
    assert service.tenant(tenant)["counts"]["examples"] == len(INPUTS)


@SIZES
def test_every_hostile_label_is_opened_in_the_history(
    page: Page, watch: Watch, filled: tuple[Service, Keys], size: dict[str, int]
) -> None:
    service, _ = filled
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    labels = service.request("GET", f"/tenants/{HOSTILE}/labels?limit=1000").json()["labels"]
    assert {each["moderator"] for each in labels} == set(NAMES)
    for each in labels:
        page.goto(f"/console/tenants/{HOSTILE}/history?open={each['version']}")
        expect(page.get_by_role("dialog", name="A label")).to_be_visible()
        check(page, watch, f"label {each['version']}", SHORT)


@pytest.mark.parametrize(
    ("kind", "inputs"), [("URL", URLS), ("Text", TEXTS), ("E-mail", MAILS)], ids=["url", "text", "email"]
)
def test_every_hostile_input_is_tried(page: Page, watch: Watch, kind: str, inputs: tuple[str, ...]) -> None:
    page.goto(f"/console/tenants/{HOSTILE}/try")
    watch.expect("422: POST")
    for number, given in enumerate(inputs):
        page.reload()
        page.get_by_role("button", name=kind, exact=True).click()
        page.evaluate(PASTE, given)
        page.get_by_role("button", name="Try it", exact=True).click()
        expect(page.get_by_role("button", name="Try it", exact=True)).to_be_enabled()
        check(page, watch, f"{kind} {number}")


# Typing 5,000 characters takes long; a paste is also how a person brings them here.
PASTE = """text => {
  const field = document.querySelector("textarea");
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
  if (field.dispatchEvent(event)) field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}"""


def test_a_megabyte_on_one_line_is_shown_in_time(page: Page, watch: Watch, filled: tuple[Service, Keys]) -> None:
    service, _ = filled
    assert len(LONG_LINE) > 1_000_000
    configure(service, "long")
    predict_all(service, "long", [{"email": MAILS[4]}])
    page.goto("/console/tenants/long/review")
    page.locator("#item .mail").wait_for(timeout=10_000)
    check(page, watch, "the long line")


@pytest.mark.parametrize(
    "tenant", ["%3Cscript%3Ealert(1)%3Cscript%3E", "%22%20onload%3D1", "%E2%80%AEevil", "x" * 3000, LONGEST_NAME]
)
def test_the_name_of_a_tenant_in_an_address_is_only_text(page: Page, watch: Watch, tenant: str) -> None:
    watch.expect("40[0-9]: GET|414: GET|422: ")
    page.goto(f"/console/tenants/{tenant}/review")
    check(page, watch, tenant[:60])


def test_a_hostile_name_of_a_person_is_only_text(windows: Windows, filled: tuple[Service, Keys]) -> None:
    service, keys = filled
    for name in NAMES:
        page = windows.open(service, "/console/sign-in")
        sign_in(page, keys.create(moderator=name), f"/console/tenants/{HARMLESS}/review")
        check(page, windows.watches[-1], repr(name[:40]))
        page.get_by_title("Who you are").click()
        check(page, windows.watches[-1], repr(name[:40]))


def test_the_harness_would_notice(page: Page, watch: Watch) -> None:
    """A page that did render a mail would be found out by every check above."""
    page.evaluate("document.querySelector('main').insertAdjacentElement('beforeend', document.createElement('iframe'))")
    with pytest.raises(AssertionError):
        check(page, watch, "a frame")
