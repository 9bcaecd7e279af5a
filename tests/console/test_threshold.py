"""The page "Threshold": the curve, what a threshold does, and setting one."""

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
PATH = "/console/tenants/acme/threshold"


@pytest.fixture(scope="module")
def labelled(shared_service: Service) -> Service:
    learn(shared_service, "acme", 600, review_random=1)
    assert shared_service.request("PUT", "/tenants/few", json={}).is_success
    return shared_service


@pytest.fixture
def page(windows: Windows, labelled: Service) -> Page:
    reset = {"threshold": "auto", "objective": "balanced", "target": None}
    assert labelled.request("PUT", "/tenants/acme", json=reset).is_success
    page = windows.open(labelled, PATH)
    expect(page.locator(".in-words")).to_contain_text("(now)")
    return page


def config(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = service.tenant("acme")["config"]
    return found


def agree(page: Page) -> None:
    page.get_by_role("dialog").get_by_role("button", name="Change it").click()
    expect(page.get_by_text("The threshold is changed.")).to_be_visible()


def test_the_slider_says_what_a_threshold_does(page: Page) -> None:
    slider = page.get_by_role("slider", name="Threshold to look at")
    slider.focus()
    before = page.locator(".in-words").inner_text()
    page.keyboard.press("End")
    expect(page.locator(".in-words")).not_to_have_text(before)
    expect(page.locator(".in-words")).to_contain_text(re.compile(r"of 1,000 items, .* flagged"))
    assert "flagged" in (slider.get_attribute("aria-valuetext") or "")
    expect(page.locator(".counts")).to_contain_text("Anomalies missed")
    expect(page.locator("#fixed-threshold")).not_to_have_value("")


def test_the_mark_is_dragged(page: Page) -> None:
    box = page.locator(".u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 40)
    page.mouse.down()
    left = page.locator("#fixed-threshold").input_value()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 60, steps=4)
    page.mouse.up()
    assert float(page.locator("#fixed-threshold").input_value()) > float(left)


def test_a_number_is_set_and_undone(page: Page, labelled: Service) -> None:
    page.locator("#fixed-threshold").fill("0.25")
    page.get_by_role("button", name="Set this number").click()
    expect(page.get_by_role("dialog")).to_contain_text("0.250")
    agree(page)
    assert config(labelled)["threshold"] == 0.25
    expect(page.locator(".in-force")).to_contain_text("It is fixed")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".in-force")).to_contain_text("It is learnt")
    assert config(labelled)["threshold"] == "auto"


def test_a_target_is_set_and_ended(page: Page, labelled: Service) -> None:
    page.get_by_label("Target", exact=True).select_option("Sensitivity")
    page.locator("#target-value").fill("80")
    expect(page.locator(".preview").last).to_contain_text("By the curve of now")
    page.get_by_role("button", name="Follow it").click()
    agree(page)
    assert {name: config(labelled)[name] for name in ("target", "target_value", "threshold")} == {
        "target": "sensitivity", "target_value": 0.8, "threshold": "auto",
    }  # fmt: skip
    expect(page.locator(".in-force")).to_contain_text("It follows the target: sensitivity 80%")
    expect(page.locator(".in-force")).to_contain_text("Realised lately")
    page.get_by_role("button", name="End the target").click()
    page.get_by_role("dialog").get_by_role("button", name="Change it").click()
    expect(page.locator(".in-force")).to_contain_text("It is learnt")
    assert config(labelled)["target"] is None


def test_it_is_learnt_for_costs(page: Page, labelled: Service) -> None:
    page.get_by_role("radio", name="Least cost").check()
    page.get_by_label("A missed anomaly costs").fill("20")
    page.get_by_role("button", name="Learn it from the labels").click()
    agree(page)
    found = config(labelled)
    assert (found["objective"], found["cost_positive"], found["cost_negative"]) == ("cost", 20.0, 1.0)


def test_a_wrong_number_is_refused_where_it_is(page: Page, windows: Windows) -> None:
    page.locator("#fixed-threshold").fill("high")
    page.get_by_role("button", name="Set this number").click()
    expect(page.get_by_role("alert")).to_have_text("The threshold must be a number.")
    windows.watches[0].expect("422: PUT")
    page.locator("#target-value").fill("100")
    page.get_by_role("button", name="Follow it").click()
    page.get_by_role("dialog").get_by_role("button", name="Change it").click()
    expect(page.get_by_role("alert").last).to_contain_text("it must be a number from 0.000001 to 0.999999")


def test_without_labels_it_says_so(page: Page) -> None:
    page.goto("/console/tenants/few/threshold")
    expect(page.get_by_role("heading", name="There is no curve yet")).to_be_visible()
    expect(page.get_by_role("button", name="Set this number")).to_be_visible()


def test_who_may_not_change_it_sees_no_button(windows: Windows, service: Service, keys: Keys) -> None:
    learn(service, "acme", 200)
    page = windows.open(service, "/console/sign-in")
    sign_in(page, keys.create("review"), PATH)
    expect(page.locator(".in-words")).to_contain_text("(now)")
    expect(page.get_by_role("region", name="Change the threshold")).to_have_count(0)


@pytest.mark.parametrize("size", [None, PHONE], ids=["wide", "phone"])
def test_it_is_accessible(page: Page, size: dict[str, int] | None) -> None:
    if size:
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto("/console/tenants/few/threshold")
    page.get_by_role("heading", name="There is no curve yet").wait_for()
    assert axe(page) == []
