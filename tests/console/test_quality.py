"""Quality of labels: who agrees with whom, who is pointed out, and blind second reviews."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.axe import axe
from tests.console.conftest import Windows
from tests.console.tenants import configure, labelled_urls
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
PATH = "/console/tenants/acme/quality"


@pytest.fixture
def asking(tmp_path: Path, windows: Windows) -> Iterator[Service]:
    """A service that asks for a second opinion on every label."""
    with Service(tmp_path / "asking", second_review_share=1).start() as service:
        configure(service, "acme")
        yield service
        windows.close()


def label(service: Service, url: str, label: int, moderator: str, prediction_id: str | None = None) -> str:
    prediction_id = prediction_id or str(service.predict("acme", url=url).json()["prediction_id"])
    answer = service.feedback("acme", prediction_id=prediction_id, label=label, moderator=moderator)
    assert answer.is_success, answer.text
    return prediction_id


def as_person(windows: Windows, service: Service, name: str) -> Page:
    page = windows.open(service, "/console/tenants/acme/history")
    page.evaluate("name => localStorage.setItem('sluice-moderator', name)", name)
    page.goto(PATH)
    return page


def moderators(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = service.request("GET", "/tenants/acme/moderators").json()
    return found


def test_who_is_overturned_is_pointed_out_with_a_link(asking: Service, windows: Windows) -> None:
    for number, (url, true) in enumerate(labelled_urls(90)):
        name = ("ann", "bob", "cat")[number % 3]
        first = label(asking, url, -true if name == "cat" and number < 60 else true, name)
        if name == "cat" and number < 60:
            label(asking, url, true, "ann", first)
    page = as_person(windows, asking, "ann")
    pointed = page.locator("article", has_text="cat is overturned more often than others")
    expect(pointed).to_contain_text("Others replaced 20 of 30 (66.7%) labels by the opposite")
    expect(page.locator("#people-rows tr")).to_have_count(3)
    expect(page.locator(".matrix tbody tr")).to_have_count(2)
    assert axe(page) == []
    pointed.get_by_role("link", name="Their labels").click()
    page.wait_for_url(re.compile(r"/history\?moderator=cat"))
    expect(page.locator("#rows tr")).to_have_count(30)


def test_second_opinions_are_given_blind_and_with_the_keyboard(asking: Service, windows: Windows) -> None:
    urls = labelled_urls(6)
    for url, true in urls:
        label(asking, url, true, "ann")
    version = asking.tenant("acme")["version"]
    first = as_person(windows, asking, "ann")
    expect(first.get_by_text("Nothing waits for your second opinion.")).to_be_visible()
    page = as_person(windows, asking, "bob")
    expect(page.get_by_text("6 items wait for your second opinion.")).to_be_visible()
    page.get_by_role("button", name="Begin").click()
    item = page.locator(".blind-item")
    truth = {url.split("://", 1)[1]: true for url, true in urls}
    for done in range(5):
        expect(page.get_by_text(f"{6 - done} to do.")).to_be_visible()
        shown = item.inner_text().replace("[.]", ".").split("://", 1)[-1].strip()
        assert page.locator("#blind .reasons, #blind .verdict").count() == 0
        if done == 0:
            assert axe(page) == []
        wanted = next(true for url, true in truth.items() if url.strip("/") in shown.removeprefix("[:]//"))
        page.keyboard.press("a" if wanted == 1 else "n")
    expect(page.get_by_text("1 to do.")).to_be_visible()
    page.keyboard.press("s")
    expect(page.get_by_text("Nothing waits for your second opinion.")).to_be_visible()
    found = moderators(asking)
    assert (found["overall"]["blind"]["pairs"], found["overall"]["blind"]["agreement"]) == (5, 1.0)
    assert asking.tenant("acme")["version"] == version, "nothing was learnt"
    third = as_person(windows, asking, "cat")
    expect(third.get_by_text("1 item waits for your second opinion.")).to_be_visible()


def test_two_people_never_get_the_same_item(asking: Service, windows: Windows) -> None:
    for url, true in labelled_urls(2):
        label(asking, url, true, "ann")
    shown = set()
    for name in ("bob", "cat"):
        page = as_person(windows, asking, name)
        page.get_by_role("button", name="Begin").click()
        expect(page.locator(".blind-item")).to_be_visible()
        shown.add(page.locator(".blind-item").inner_text())
    assert len(shown) == 2


def test_nobody_is_asked_without_a_name(asking: Service, windows: Windows) -> None:
    label(asking, "http://a.test/", 1, "ann")
    page = windows.open(asking, PATH)
    page.get_by_role("button", name="Say who you are").click()
    page.get_by_label("Your name").fill("bob")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("1 item waits for your second opinion.")).to_be_visible()


def test_without_labels_the_page_says_so(service: Service, windows: Windows) -> None:
    configure(service, "acme")
    page = windows.open(service, PATH)
    expect(page.get_by_text("No labels of anybody who is named")).to_be_visible()
    expect(page.get_by_text("Nobody can be compared: there are no labels of two people to compare.")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
