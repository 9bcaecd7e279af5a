"""The page "Settings": what every setting means, changed in place; and what is done with a whole tenant."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.axe import axe
from tests.console.conftest import PHONE, Windows, sign_in
from tests.console.labelled import learn
from tests.console.tenants import Keys
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
PATH = "/console/tenants/acme/settings"


@pytest.fixture(scope="module")
def labelled(shared_service: Service) -> Service:
    learn(shared_service, "acme", 100)
    return shared_service


@pytest.fixture
def page(windows: Windows, labelled: Service) -> Page:
    page = windows.open(labelled, PATH)
    expect(page.get_by_label("Algorithm")).to_be_visible()
    return page


def config(service: Service, tenant: str = "acme") -> dict[str, Any]:
    found: dict[str, Any] = service.tenant(tenant)["config"]
    return found


def save(page: Page, button: str | re.Pattern[str] = re.compile("^Save")) -> None:
    page.get_by_role("button", name="Look through and save").click()
    page.get_by_role("dialog").get_by_role("button", name=button).click()


def test_every_setting_is_shown_with_its_meaning_and_value(page: Page, labelled: Service) -> None:
    known = labelled.request("GET", "/settings").json()
    has = known["algorithms"][config(labelled)["algorithm"]]["defaults"]
    shown = page.locator("[data-setting]").evaluate_all("all => all.map(each => each.dataset.setting)")
    assert sorted(shown) == sorted(has)
    eta = page.locator("[data-setting=eta]")
    expect(eta).to_contain_text("Learning rate: how far one label moves the weights.")
    expect(eta).to_contain_text("A number from 1e-12 to 1e12")
    expect(eta.get_by_role("textbox")).to_have_value(str(config(labelled)["eta"]))


def test_only_what_differs_is_saved_after_a_summary(page: Page, labelled: Service) -> None:
    before = config(labelled)
    expect(page.get_by_role("region", name="Changes")).to_be_hidden()
    page.get_by_label("Learning rate").fill("0.5")
    page.get_by_label("Keep inputs").select_option("review")
    expect(page.get_by_role("region", name="Changes")).to_contain_text("2 changes")
    page.get_by_role("button", name="Look through and save").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"{before['eta']} → 0.5")
    expect(page.get_by_role("dialog")).to_contain_text("predictions from now on")
    page.get_by_role("button", name="Save 2 changes").click()
    expect(page.get_by_text("2 settings are saved.")).to_be_visible()
    assert config(labelled) == before | {"eta": 0.5, "keep_inputs": "review"}


def test_a_wrong_value_is_refused_at_its_field(page: Page, windows: Windows, labelled: Service) -> None:
    before = config(labelled)
    windows.watches[0].expect("422: PUT")
    page.get_by_label("At random").fill("7")
    page.get_by_label("Forgetting").fill("0.001")
    save(page)
    field = page.get_by_label("At random")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    expect(page.locator("#setting-review_random-problem")).to_contain_text("review_random is 7")
    assert config(labelled) == before
    field.fill("0.02")
    expect(page.locator("#setting-review_random-problem")).to_be_hidden()
    save(page)
    expect(page.get_by_text("2 settings are saved.")).to_be_visible()
    assert config(labelled)["review_random"] == 0.02


def test_a_change_of_algorithm_shows_its_settings_and_says_what_it_means(page: Page, labelled: Service) -> None:
    learn(labelled, "swap", 50)
    page.goto("/console/tenants/swap/settings")
    page.get_by_label("Algorithm").select_option("arow")
    expect(page.get_by_label("Learning rate")).to_have_count(0)
    expect(page.get_by_label("Regularisation")).to_have_value("0.1")
    page.get_by_role("button", name="Look through and save").click()
    expect(page.get_by_role("dialog")).to_contain_text("A new model begins")
    page.get_by_role("button", name="Save the change").click()
    expect(page.get_by_text("Algorithm is saved.")).to_be_visible()
    assert config(labelled, "swap")["algorithm"] == "arow"


def test_changes_are_discarded_one_by_one_or_all(page: Page) -> None:
    rate = page.get_by_label("Learning rate")
    before = rate.input_value()
    rate.fill("3")
    page.locator("[data-setting=eta]").get_by_role("button", name="Reset").click()
    expect(rate).to_have_value(before)
    rate.fill("4")
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_label("Learning rate")).to_have_value(before)
    expect(page.get_by_role("region", name="Changes")).to_be_hidden()


def test_the_review_policy_is_said_in_a_sentence(page: Page) -> None:
    words = page.locator(".policy-words")
    page.get_by_label("Reviews per day").fill("40")
    page.get_by_label("With so many items a day").fill("10,000")
    expect(words).to_contain_text("About 40 of 10,000 a day")
    page.get_by_label("At random").fill("0")
    expect(words).to_contain_text("There is no review policy")


def test_a_tenant_is_deleted_by_its_name_and_restored(page: Page, windows: Windows, labelled: Service) -> None:
    learn(labelled, "brief", 50)
    version = labelled.tenant("brief")["version"]
    windows.watches[0].expect("404: GET")
    page.goto("/console/tenants/brief/settings")
    page.get_by_role("button", name="Delete this tenant").click()
    delete = page.get_by_role("dialog").get_by_role("button", name="Delete it")
    page.get_by_label("Type its name").fill("brie")
    expect(delete).to_be_disabled()
    page.get_by_label("Type its name").fill("brief")
    delete.click()
    expect(page.get_by_role("heading", name="No such tenant")).to_be_visible()
    assert labelled.status("/tenants/brief") == 404
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_label("Algorithm")).to_be_visible()
    assert labelled.tenant("brief")["version"] == version


def test_a_snapshot_and_an_export_are_taken(page: Page) -> None:
    page.get_by_role("button", name="Take a snapshot").click()
    expect(page.get_by_text("Snapshot of version")).to_be_visible()
    with page.expect_download() as found:
        page.get_by_role("button", name="Export with the log").click()
    assert re.fullmatch(r"acme-v\d+\.sluice", found.value.suggested_filename)
    assert found.value.path().read_bytes().startswith(b"sluice")


def test_a_new_tenant_is_created_here(page: Page, windows: Windows, labelled: Service) -> None:
    windows.watches[0].expect("404: GET")
    page.goto("/console/tenants/fresh/settings")
    page.get_by_role("button", name="Create it with the usual settings").click()
    expect(page.get_by_label("Algorithm")).to_be_visible()
    assert labelled.tenant("fresh")["version"] == 1


def test_who_is_no_administrator_only_reads(windows: Windows, service: Service, keys: Keys) -> None:
    learn(service, "acme", 50)
    page = windows.open(service, "/console/sign-in")
    sign_in(page, keys.create("review"), PATH)
    expect(page.locator("[data-setting=eta]")).to_contain_text("0.35")
    assert page.locator("[data-setting] input, [data-setting] select").count() == 0
    expect(page.get_by_role("button", name="Delete this tenant")).to_have_count(0)
    assert axe(page) == []


@pytest.mark.parametrize("size", [None, PHONE], ids=["wide", "phone"])
def test_it_is_accessible(page: Page, size: dict[str, int] | None) -> None:
    if size:
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
    assert axe(page) == []
    page.get_by_label("Learning rate").fill("0.7")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
