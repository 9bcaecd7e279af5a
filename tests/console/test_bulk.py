"""Bulk: items that look alike are labelled together, and one undo takes all of it back."""

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.axe import axe
from tests.console.conftest import PHONE, Windows
from tests.console.tenants import fill, look_alikes, mails, urls
from tests.console.test_review import NO_CONNECTION, decided, labels_of, open_review, until_stored
from tests.console.watch import Watch
from tests.services import Service, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
PATH = "/console/tenants/links/bulk"
# A pure module of the page, with items of the test's own.
GROUPS = """async (items) => {
  const script = document.querySelector("script[src*='/js/pages/']").src;
  const { groupsOf } = await import(script.replace(/pages\\/[^/]+$/, "review/groups.js"));
  const { groups, alone } = groupsOf(items);
  const ids = (some) => some.map((each) => each.prediction_id);
  return [groups.map(({ kind, title, items }) => [kind, title, ids(items)]), ids(alone)];
}"""


def open_bulk(page: Page, path: str = PATH) -> None:
    page.goto(path)
    page.wait_for_selector(".group")


def test_twelve_look_alikes_are_labelled_at_once_and_taken_back(page: Page, service: Service) -> None:
    alike = fill(service, "links", look_alikes(12))
    fill(service, "links", urls(5))
    open_bulk(page)
    group = page.locator(".group").first
    expect(group).to_contain_text("paystone[.]fernmarket9[.]test")
    group.get_by_role("button", name="Anomaly · 12").click()
    until_stored(page)
    assert {each["prediction_id"]: each["label"] for each in labels_of(service)} == dict.fromkeys(alike, 1)
    assert len({each["feedback_id"] for each in labels_of(service)}) == 12
    assert decided(page) == 12
    expect(page.locator("#state")).to_contain_text("12 labels anomaly · version")
    page.keyboard.press("z")
    until_stored(page)
    assert labels_of(service) == []
    assert decided(page) == 0
    assert service.tenant("links")["counts"]["examples"] == 0
    expect(page.locator(".group").first).to_contain_text("paystone[.]fernmarket9[.]test")


def test_a_selection_is_labelled_and_what_is_left_is_released(page: Page, service: Service) -> None:
    fill(service, "links", look_alikes(6))
    open_bulk(page)
    page.get_by_role("button", name="Show and choose among all 6").click()
    boxes = page.get_by_role("checkbox")
    boxes.nth(1).uncheck()
    boxes.nth(4).uncheck()
    page.get_by_role("button", name="Normal · 4").click()
    until_stored(page)
    assert [each["label"] for each in labels_of(service)] == [-1] * 4
    expect(page.locator(".group")).to_contain_text("Normal · 2")
    page.goto("/console/tenants/links/try")
    wait_until(lambda: service.tenant("links")["review"]["leased"] == 0, "the leases are not released")
    assert service.tenant("links")["review"]["waiting"] == 2


def test_groups_are_labelled_with_the_keyboard(page: Page, service: Service) -> None:
    alike = fill(service, "links", look_alikes(4))
    others = fill(service, "links", [{"url": f"http://q{k}.other.test/about/team?x={k}"} for k in range(3)])
    open_bulk(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    page.keyboard.press("a")
    until_stored(page)
    expected = dict.fromkeys(alike, -1) | dict.fromkeys(others, 1)
    assert {each["prediction_id"]: each["label"] for each in labels_of(service)} == expected
    page.keyboard.press("z")
    page.keyboard.press("z")
    until_stored(page)
    assert labels_of(service) == []


def test_labels_that_are_refused_are_told(page: Page, service: Service) -> None:
    fill(service, "links", look_alikes(12))
    open_bulk(page)

    def send_wrong_ids(route: Route) -> None:
        body: Any = route.request.post_data_json
        for item in body["items"][:3]:
            item["prediction_id"] = "long-gone"
        route.continue_(post_data=body)

    page.route("**/feedback/batch", send_wrong_ids)
    page.get_by_role("button", name="Anomaly · 12").click()
    expect(page.get_by_text("3 of 12 could not be labelled: The item is not kept any more")).to_be_visible()
    until_stored(page)
    assert len(labels_of(service)) == 9
    assert decided(page) == 9
    page.keyboard.press("z")
    until_stored(page)
    assert labels_of(service) == []
    assert decided(page) == 0


def test_a_killed_service_loses_and_doubles_nothing(page: Page, service: Service, watch: Watch) -> None:
    alike = fill(service, "links", look_alikes(8))
    open_bulk(page)
    with watch.expecting(NO_CONNECTION):
        service.kill()
        page.get_by_role("button", name="Normal · 8").click()
        expect(page.locator("#connection")).to_contain_text("No connection")
        service.start()
        until_stored(page)
    assert sorted(each["prediction_id"] for each in labels_of(service)) == sorted(alike)
    page.wait_for_selector("#connection", state="hidden")


def test_an_act_that_is_taken_back_before_it_is_answered_leaves_no_label(
    page: Page, service: Service, watch: Watch
) -> None:
    fill(service, "links", look_alikes(5))
    open_bulk(page)
    with watch.expecting(NO_CONNECTION):
        service.kill()
        page.get_by_role("button", name="Anomaly · 5").click()
        expect(page.locator("#connection")).to_contain_text("No connection")
        page.keyboard.press("z")
        service.start()
        until_stored(page)
    assert labels_of(service) == []
    assert service.tenant("links")["counts"]["examples"] == 0


def test_review_and_bulk_share_no_item(service: Service, windows: Windows) -> None:
    fill(service, "links", look_alikes(10))
    review, bulk = windows.open(service), windows.open(service)
    open_review(review)
    open_bulk(bulk)
    expect(bulk.locator("#held")).to_have_text("2 items, 1 group")


def url_item(name: str, url: str) -> dict[str, object]:
    return {"prediction_id": name, "input": {"kind": "url", "url": url}, "features": {name: 1}}


def mail_item(name: str, sender: str, subject: str) -> dict[str, object]:
    parts = {"from": sender, "subject": subject}
    return {"prediction_id": name, "input": {"kind": "email", "email": "", "parts": parts}, "features": {name: 1}}


def test_items_are_grouped_by_what_they_have_in_common(page: Page, service: Service) -> None:
    fill(service, "links", urls(1))
    page.goto(PATH)
    items = [
        url_item("u1", "http://a7.shop.test/x"),
        url_item("u2", "https://a12.shop.test:8080/y?q=1"),
        url_item("u3", "http://one.test/account/12/verify?id=5"),
        url_item("u4", "http://two.test/account/99/verify?id=6#top"),
        url_item("u5", "http://alone.test/"),
        mail_item("m1", "Bank <a@mail.bank.test>", "Re: Invoice 4711"),
        mail_item("m2", "b@mail.bank.test (Bank)", "invoice 12"),
        mail_item("m3", "c@other.test", "Invoice 13"),
        {"prediction_id": "f1", "input": None, "features": {"amount": 100, "country=AT": 1}},
        {"prediction_id": "f2", "input": None, "features": {"amount": 90, "country=AT": 1}},
        {"prediction_id": "f3", "input": None, "features": {"amount": 5, "country=AT": 1}},
    ]
    groups, alone = page.evaluate(GROUPS, items)
    assert sorted(groups) == [
        ["alike", "", ["f1", "f2"]],
        ["host", "a#.shop.test", ["u1", "u2"]],
        ["mail", "mail.bank.test: invoice #", ["m1", "m2"]],
        ["path", "/account/#/verify?id", ["u3", "u4"]],
    ]
    assert alone == ["u5", "m3", "f3"]


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, PHONE], ids=["wide", "phone"])
def test_everybody_can_use_the_page(service: Service, windows: Windows, size: dict[str, int]) -> None:
    fill(service, "mail", mails(4))
    fill(service, "mail", urls(3))
    page = windows.open(service, viewport=size)
    open_bulk(page, "/console/tenants/mail/bulk")
    assert axe(page) == []
    page.get_by_role("button", name="Show and choose").first.click()
    page.get_by_role("button", name="Normal").first.click()
    assert axe(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
