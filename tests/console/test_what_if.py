"""The page "What if": other settings over the kept labels."""

import pytest
from playwright.sync_api import Page, expect

from tests.console.axe import axe
from tests.console.conftest import PHONE, Windows, sign_in
from tests.console.labelled import learn
from tests.console.tenants import Keys
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
PATH = "/console/tenants/acme/what-if"
LABELS = 400


@pytest.fixture(scope="module")
def labelled(shared_service: Service) -> Service:
    learn(shared_service, "acme", LABELS)
    learn(shared_service, "twin", 100, algorithm="ftrl")
    return shared_service


@pytest.fixture
def page(windows: Windows, labelled: Service) -> Page:
    page = windows.open(labelled, PATH)
    expect(page.get_by_label("Algorithm")).to_be_visible()
    return page


def compare(page: Page) -> None:
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".headline")).to_be_visible()


def test_other_settings_are_compared_and_flips_listed(page: Page, labelled: Service) -> None:
    page.get_by_label("Threshold", exact=True).fill("0.6")
    compare(page)
    found = labelled.post("/tenants/acme/whatif", {"settings": {"threshold": 0.6}, "flips": 500}).json()
    assert found["flipped"] > 0
    expect(page.locator(".headline")).to_have_text(
        f"{found['flipped']} of {LABELS} verdicts would be different: "
        f"{found['corrected']} corrected, {found['spoilt']} spoilt."
    )
    expect(page.locator("table.matrix")).to_have_count(2)
    expect(page.locator("table.matrix").last).to_contain_text(str(found["other"]["true_positives"]))
    rows = page.locator("[data-flip]")
    expect(rows).to_have_count(min(found["flipped"], 25))
    link = rows.first.get_by_role("link")
    expect(link).to_contain_text("hxxp")
    newest = found["flips"][0]["prediction_id"]
    assert (link.get_attribute("href") or "").endswith(f"/console/tenants/acme/history?prediction={newest}")
    page.get_by_role("button", name="Spoilt", exact=True).click()
    assert set(rows.evaluate_all("all => all.map(each => each.dataset.flip)")) <= {"spoilt"}


def test_only_the_settings_of_an_algorithm_are_offered(page: Page) -> None:
    expect(page.get_by_label("First denominator")).to_be_visible()
    page.get_by_label("Algorithm").select_option("arow")
    expect(page.get_by_label("First denominator")).to_have_count(0)
    expect(page.get_by_label("Regularisation")).to_be_visible()
    compare(page)
    expect(page.locator("table.matrix").last.locator("xpath=..")).to_contain_text("arow")


def test_a_wrong_setting_is_refused_at_its_field(page: Page, windows: Windows) -> None:
    windows.watches[0].expect("422: POST")
    page.get_by_label("Learning rate").fill("-1")
    page.get_by_role("button", name="Compare").click()
    field = page.get_by_label("Learning rate")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    expect(page.locator("#what-eta-problem")).to_contain_text("eta is -1")


def test_another_tenant_s_model_is_compared(page: Page, windows: Windows) -> None:
    page.get_by_label("Model of another tenant").fill("twin")
    compare(page)
    expect(page.get_by_text("With the model of twin")).to_be_visible()
    expect(page.get_by_role("button", name="Use these settings")).to_have_count(0)
    windows.watches[0].expect("404: POST")
    page.get_by_label("Model of another tenant").fill("missing")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_contain_text("missing")


def test_the_address_has_what_was_asked(page: Page) -> None:
    page.get_by_label("Forgetting").fill("0.01")
    compare(page)
    page.reload()
    expect(page.get_by_label("Forgetting")).to_have_value("0.01")


def test_the_settings_are_used_after_a_question(page: Page, labelled: Service) -> None:
    learn(labelled, "other", 100)
    page.goto("/console/tenants/other/what-if")
    page.get_by_label("Learning rate").fill("0.5")
    compare(page)
    page.get_by_role("button", name="Use these settings").click()
    expect(page.get_by_role("dialog")).to_contain_text("PUT /tenants/other")
    page.get_by_role("button", name="Use them").click()
    expect(page.get_by_text("The settings are in force.")).to_be_visible()
    assert labelled.tenant("other")["config"]["eta"] == 0.5


def test_who_may_not_change_settings_only_compares(windows: Windows, service: Service, keys: Keys) -> None:
    learn(service, "acme", 100)
    page = windows.open(service, "/console/sign-in")
    sign_in(page, keys.create("review"), PATH)
    page.get_by_label("Learning rate").fill("0.5")
    compare(page)
    expect(page.get_by_role("button", name="Use these settings")).to_have_count(0)


@pytest.mark.parametrize("size", [None, PHONE], ids=["wide", "phone"])
def test_it_is_accessible(page: Page, size: dict[str, int] | None) -> None:
    if size:
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
    assert axe(page) == []
    page.get_by_label("Threshold", exact=True).fill("0.6")
    compare(page)
    expect(page.locator("[data-flip]").first).to_be_visible()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
