"""The overview of a tenant moves by itself, and all tenants are listed with the worst first."""

import re
from collections.abc import Sequence

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.axe import axe
from tests.console.conftest import PHONE, Windows, sign_in
from tests.console.tenants import Keys, configure, predict_all, urls
from tests.console.watch import Watch
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
TENANT = "links"
OVERVIEW = f"/console/tenants/{TENANT}/overview"
NO_CONNECTION = r"ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE"
SHIFTS = """() => { window.shift = 0; new PerformanceObserver((list) => {
  for (const each of list.getEntries()) if (!each.hadRecentInput) window.shift += each.value;
}).observe({ type: "layout-shift", buffered: true }); }"""


def label(service: Service, tenant: str, predictions: Sequence[str], labels: Sequence[int]) -> None:
    """Label predictions, as moderators do."""
    items = [{"prediction_id": each, "label": label} for each, label in zip(predictions, labels, strict=True)]
    answer = service.post("/feedback/batch", {"tenant": tenant, "items": items})
    assert answer.is_success, answer.text
    assert all("error" not in each for each in answer.json()["results"])


def teach(service: Service, tenant: str, labels: int, wrong: int = 0, **settings: object) -> None:
    """Give a tenant labels of both classes for predictions of its own; every `wrong`-th is the opposite."""
    configure(service, tenant, review_random=1, **settings)
    for first in range(0, labels, 100):
        count = min(labels - first, 100)
        inputs = [{"features": {f"class:{k % 2}": 1, f"f{k}": 1}} for k in range(first, first + count)]
        truths = [1 if k % 2 else -1 for k in range(first, first + count)]
        given = [-truth if wrong and (k // 2) % wrong == 0 else truth for k, truth in enumerate(truths)]
        label(service, tenant, predict_all(service, tenant, inputs), given)


def stat(page: Page, name: str) -> Locator:
    return page.locator(f"#stat-{name} [data-part=value]")


def is_live(page: Page) -> None:
    expect(page.locator("#live")).to_have_attribute("data-status", "live")


@pytest.fixture
def overview(page: Page, service: Service) -> Page:
    teach(service, TENANT, 40)
    page.goto(OVERVIEW)
    is_live(page)
    return page


def test_numbers_and_charts_move_when_labels_come_meanwhile(overview: Page, service: Service) -> None:
    page = overview
    chart = page.locator("#panel-given").get_by_role("img")
    expect(stat(page, "labels")).to_have_text("40")
    expect(chart).to_have_attribute("aria-label", "In this range: 20 anomalies and 20 normal.")
    page.evaluate("window.same = true")
    ids = predict_all(service, TENANT, urls(10))
    expect(stat(page, "queue")).to_have_text("10")
    expect(page.locator("#queue-count")).to_have_text("10")
    drawn = page.locator("#panel-given canvas").evaluate("each => each.toDataURL()")
    label(service, TENANT, ids[:6], [1] * 6)
    expect(stat(page, "labels")).to_have_text("46")
    expect(stat(page, "queue")).to_have_text("4")
    expect(chart).to_have_attribute("aria-label", "In this range: 26 anomalies and 20 normal.")
    assert page.locator("#panel-given canvas").evaluate("each => each.toDataURL()") != drawn
    expect(stat(page, "balanced")).to_contain_text("honest")
    assert page.evaluate("window.same"), "the page was not loaded again"


def test_the_stream_recovers_when_the_service_was_gone(overview: Page, service: Service, watch: Watch) -> None:
    page = overview
    watch.expect(NO_CONNECTION)
    assert service.terminate().code == 0
    expect(page.locator("#connection")).to_contain_text("Connection lost")
    expect(page.locator("#live")).to_have_text(re.compile("Trying again"))
    service.start()
    expect(page.locator("#live")).to_have_attribute("data-status", "live", timeout=20_000)
    expect(page.locator("#connection")).to_be_hidden()
    label(service, TENANT, predict_all(service, TENANT, urls(1)), [1])
    expect(stat(page, "labels")).to_have_text("41")


def test_a_revoked_key_leads_to_the_sign_in(page: Page, service: Service, keys: Keys, watch: Watch) -> None:
    secret = keys.create()
    teach(service, TENANT, 4)
    sign_in(page, secret, OVERVIEW)
    is_live(page)
    watch.expect("401: ")
    keys.revoke(secret)
    page.wait_for_url(re.compile(r"/console/sign-in\?next=.*overview$"))


def test_a_deleted_tenant_is_said_to_be_gone(overview: Page, service: Service, watch: Watch) -> None:
    watch.expect("404: ")
    assert service.request("DELETE", f"/tenants/{TENANT}").is_success
    expect(overview.locator("#live")).to_have_attribute("data-status", "ended")
    expect(overview.locator("#live")).to_contain_text("there is no tenant 'links'")


def test_every_chart_has_its_numbers_as_a_table_and_is_reached_by_keyboard(overview: Page) -> None:
    page = overview
    for panel, rows in (("Accuracy", "Honest"), ("Labels per", "Anomalies"), ("Label delay", "Half within")):
        section = page.get_by_role("region", name=re.compile(f"^{panel}[^,]*$"))
        button = section.get_by_role("button", name="Show as table")
        button.focus()
        page.keyboard.press("Enter")
        expect(section.get_by_role("columnheader", name=rows)).to_be_visible()
        expect(button).to_have_attribute("aria-pressed", "true")
        assert section.get_by_role("row").count() > 10
        page.keyboard.press("Enter")
        expect(section.get_by_role("img")).to_be_visible()
    page.get_by_role("button", name="30 days").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="30 days")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#title-given")).to_have_text("Labels per day")
    page.get_by_role("button", name="Sensitivity").click()
    chart = page.locator("#panel-accuracy").get_by_role("img")
    expect(chart).to_have_attribute("aria-label", re.compile("^Sensitivity per day. In this range: honest "))


def test_weights_and_settings_are_shown_in_words(page: Page, service: Service) -> None:
    configure(service, TENANT, target={"false_positive_rate": 0.05})
    label(service, TENANT, predict_all(service, TENANT, urls(4)), [1, -1, 1, -1])
    page.goto(OVERVIEW)
    weights = page.locator("#weights li")
    expect(weights).to_have_count(12)
    assert not any(re.match(r"\w+:\w*", each) for each in weights.all_inner_texts()), "names of features are worded"
    model = page.locator("#model")
    expect(model).to_contain_text("False alarms among normal items: 5.0%")
    expect(model).to_contain_text("follows the target")
    expect(page.locator("#stat-health")).to_contain_text("It is not followed yet")


def test_without_labels_each_card_says_what_is_missing(page: Page, service: Service) -> None:
    configure(service, TENANT)
    page.goto(OVERVIEW)
    expect(stat(page, "labels")).to_have_text("0")
    expect(page.locator("#stat-labels")).to_contain_text("No label yet")
    expect(page.locator("#stat-balanced")).to_contain_text("No honest figure: no label of a chosen item yet")
    expect(page.locator("#stat-queue")).to_contain_text("Nothing waits for a person")
    expect(page.locator("#panel-accuracy")).to_contain_text("No label in this range")
    expect(page.locator("#weights")).to_contain_text("Nothing learnt yet")
    assert axe(page) == []


def test_a_tenant_that_does_not_exist_is_said_not_to(page: Page, watch: Watch) -> None:
    watch.expect("404: ")
    page.goto("/console/tenants/nobody/overview")
    expect(page.get_by_role("heading", name="No such tenant")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("there is no tenant 'nobody'")
    expect(page.locator("#toasts")).to_be_empty()
    assert axe(page) == []


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["wide", "phone"])
def test_the_overview_is_for_everybody_and_nothing_moves_while_it_loads(
    windows: Windows, service: Service, viewport: dict[str, int] | None
) -> None:
    teach(service, TENANT, 80)
    page = windows.open(service, "/console/sign-in", **({"viewport": viewport} if viewport else {}))
    page.add_init_script(f"({SHIFTS})()")
    page.goto(OVERVIEW)
    is_live(page)
    expect(page.locator("#panel-delay").get_by_role("img")).to_be_visible()
    expect(page.locator("#weights li").first).to_be_visible()
    assert page.evaluate("window.shift") < 0.02
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe(page) == []
    page.locator("#panel-accuracy").get_by_role("button", name="Show as table").click()
    assert axe(page) == []


def test_tenants_are_listed_the_worst_first(page: Page, service: Service) -> None:
    teach(service, "fine", 200, threshold=0.0)
    teach(service, "fair", 200, wrong=5, threshold=0.0)
    teach(service, "awful", 200, wrong=2, threshold=0.0)
    for k in range(60):
        service.request("PUT", f"/tenants/empty-{k:02d}", json={})
    predict_all(service, "fine", urls(3))
    page.goto("/console/tenants")
    names = page.locator("#rows tr td:first-child")
    expect(names).to_have_count(50)
    assert names.all_inner_texts()[:4] == ["awful", "fair", "fine", "empty-00"]
    rows = page.locator("#rows tr")
    expect(rows.nth(0)).to_contain_text("Poor")
    expect(rows.nth(2)).to_contain_text("Good")
    expect(rows.nth(2).locator("[data-name=Waiting]")).to_have_text("3")
    expect(page.locator("#place")).to_have_text("1 to 50 of 63")
    page.get_by_role("button", name="Next").click()
    expect(names).to_have_count(13)
    page.keyboard.press("/")
    page.keyboard.type("fai")
    expect(names).to_have_text(["fair"])
    assert axe(page) == []
    page.get_by_role("link", name="Overview of fair").click()
    page.wait_for_url("**/console/tenants/fair/overview")


def test_a_search_without_a_result_says_so(page: Page, service: Service) -> None:
    configure(service, TENANT)
    page.goto("/console/tenants")
    expect(page.locator("#rows")).to_contain_text(TENANT)
    page.get_by_label("Search tenants by name").fill("nothing like it")
    expect(page.locator("#rows")).to_contain_text("No name has “nothing like it” in it.")
    assert axe(page) == []


def test_the_first_run_shows_how_to_begin(page: Page, service: Service) -> None:
    page.goto("/console/tenants")
    expect(page.get_by_role("heading", name="No tenant yet")).to_be_visible()
    command = page.locator("#first-run pre").first.inner_text()
    assert f"curl -s {service.url}/predict" in command
    assert axe(page) == []
    service.predict("links", url="http://login.example.org/account/verify?id=7")
    expect(page.locator("#rows")).to_contain_text("links", timeout=10_000)


def test_a_lead_sees_only_their_own_tenants(page: Page, service: Service, keys: Keys) -> None:
    for tenant in ("acme", "acme-1", "links"):
        configure(service, tenant)
    sign_in(page, keys.create("review", tenants=["acme", "acme-*"]), "/console/tenants")
    expect(page.locator("#rows tr td:first-child")).to_have_text(["acme", "acme-1"])
    assert page.get_by_role("link", name="Review acme").count() == 0, "the role may not label"


def test_names_that_are_hostile_change_nothing(page: Page, service: Service) -> None:
    name = "<script>alert(1)</script>\u202egnp.exe"
    answer = service.feedback(TENANT, features={name: 1, "a" * 5000: 1}, label=1)
    assert answer.is_success
    page.goto(OVERVIEW)
    expect(page.locator("#weights")).to_contain_text("<script>alert(1)</script>")
    assert "\u202e" not in page.locator("#weights").inner_text()
    assert page.locator("#weights script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
