"""The history: filters in the address, one label with its reasons, correcting it, and taking labels back."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.axe import axe
from tests.console.conftest import Windows, sign_in
from tests.console.tenants import Keys, configure, labelled_urls
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
PATH = "/console/tenants/acme/history"
HOSTILE = "<img src=x onerror=alert(1)>\u202egnp"


def label(service: Service, url: str, label: int, moderator: str, feedback_id: str, **more: str) -> str:
    """Label a URL; return the id of its prediction."""
    prediction_id = more.get("prediction_id") or str(service.predict("acme", url=url).json()["prediction_id"])
    answer = service.feedback(
        "acme", prediction_id=prediction_id, label=label, moderator=moderator, feedback_id=feedback_id
    )
    assert answer.is_success, answer.text
    return prediction_id


@pytest.fixture
def history(service: Service, page: Page) -> Page:
    """40 labels of ann and 20 of bob, all of whose are wrong; the last of ann's replaced one of bob's."""
    configure(service, "acme")
    for number, (url, true) in enumerate(labelled_urls(60)):
        is_bob = number % 3 == 2
        label(service, url, -true if is_bob else true, "bob" if is_bob else "ann", f"f-{number}")
    page.goto(PATH)
    return page


def labels(service: Service, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.request("GET", "/tenants/acme/labels", params=query).json()["labels"]
    return found


def test_filters_are_kept_in_the_address(history: Page, service: Service) -> None:
    rows = history.locator("#rows tr")
    expect(rows).to_have_count(50)
    history.get_by_role("button", name="Show older labels").click()
    expect(rows).to_have_count(60)
    history.get_by_label("Moderator").fill("bob")
    expect(rows).to_have_count(20)
    history.locator("#filter-label").select_option("1")
    history.wait_for_url("**label=1*")
    shown = len(labels(service, moderator="bob", label="1"))
    expect(rows).to_have_count(shown)
    history.reload()
    expect(rows).to_have_count(shown)
    expect(history.get_by_label("Moderator")).to_have_value("bob")
    history.get_by_label("Prediction or feedback id").fill("nothing")
    expect(history.get_by_text("No label fits these filters")).to_be_visible()
    history.get_by_role("button", name="Clear the filters").click()
    expect(rows).to_have_count(50)


def test_one_label_is_opened_and_corrected_with_the_keyboard(history: Page, service: Service) -> None:
    before = labels(service, feedback_id="f-59")[0]
    history.get_by_label("Prediction or feedback id").fill("f-59")
    expect(history.locator("#rows tr")).to_have_count(1)
    history.locator("#rows .open").focus()
    history.keyboard.press("Enter")
    drawer = history.get_by_role("dialog", name="A label")
    expect(drawer.get_by_text("When it was answered")).to_be_visible()
    expect(drawer.locator(".raw").first).to_contain_text("[:]//")
    assert history.url.endswith(f"open={before['version']}")
    other = "anomaly" if before["label"] == -1 else "normal"
    drawer.get_by_role("button", name=f"Correct to {other}").press("Enter")
    expect(drawer.locator(".timeline li")).to_have_count(2)
    expect(drawer.get_by_text("stands")).to_be_visible()
    standing, replaced = labels(service, prediction_id=str(before["prediction_id"]))
    assert (standing["label"], standing["replaced"]["label"]) == (-before["label"], before["label"])
    assert replaced["retracted"]["is_replacement"]
    history.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    history.get_by_label("Prediction or feedback id").fill("")
    history.locator("#filter-state").select_option("disagreements")
    expect(history.locator("#rows tr")).to_have_count(1)


def test_a_moderator_is_taken_back_after_the_dry_run(history: Page, service: Service) -> None:
    history.get_by_role("button", name="Take back …").first.click()
    history.get_by_label("Name or id").fill("bob")
    history.get_by_role("button", name="Dry run").click()
    dialog = history.get_by_role("dialog", name="Take back the labels of a moderator")
    expect(dialog.get_by_text("labels taken back")).to_be_visible()
    expect(dialog.locator(".value").first).to_have_text("20")
    assert labels(service, retracted="true") == [], "a dry run changes nothing"
    dialog.get_by_label("Reason").fill("careless")
    dialog.get_by_role("button", name="Take back 20 labels").click()
    expect(dialog).to_be_hidden()
    expect(history.get_by_text("20 labels taken back. Balanced accuracy")).to_be_visible()
    taken_back = labels(service, retracted="true")
    assert {each["moderator"] for each in taken_back} == {"bob"}
    assert {each["retracted"]["reason"] for each in taken_back} == {"careless"}
    assert len(taken_back) == 20
    history.locator("#filter-state").select_option("back")
    expect(history.locator("#rows tr")).to_have_count(20)


def test_chosen_labels_are_taken_back_together(history: Page, service: Service) -> None:
    for number in (0, 2, 3):
        history.get_by_role("checkbox", name="Select").nth(number + 1).check()
    expect(history.get_by_text("3 selected")).to_be_visible()
    history.locator("#selection-retract").click()
    history.get_by_label("Reason").fill("wrong key pressed")
    history.get_by_role("button", name="Take back 3 labels").click()
    expect(history.get_by_text("3 labels taken back. Balanced accuracy")).to_be_visible()
    found = labels(service, retracted="true")
    assert sorted(str(each["feedback_id"]) for each in found) == ["f-56", "f-57", "f-59"]


def test_files_are_downloaded(history: Page) -> None:
    history.get_by_label("Moderator").fill("ann")
    history.wait_for_url("**moderator=ann*")
    with history.expect_download() as started:
        history.get_by_role("link", name="CSV").click()
    text = started.value.path().read_text()
    assert len(text.splitlines()) == 41
    assert started.value.suggested_filename == "labels-acme.csv"


def test_without_the_role_admin_only_own_labels_can_be_taken_back(
    service: Service, keys: Keys, windows: Windows
) -> None:
    own, others = (keys.create(moderator=name) for name in ("kim", "lee"))
    configure(service, "acme")
    for number, ((url, true), secret) in enumerate(zip(labelled_urls(4), [own, others] * 2, strict=True)):
        sent = {"tenant": "acme", "url": url, "label": true, "feedback_id": f"f-{number}"}
        assert service.request("POST", "/feedback", json=sent, headers={"x-api-key": secret}).is_success
    page = windows.open(service)
    windows.watches[-1].expect(r"^403: POST \S+/retract")
    sign_in(page, own, PATH)
    expect(page.locator("#rows tr")).to_have_count(4)
    expect(page.locator("#rows input[type=checkbox]")).to_have_count(2)
    page.locator("#retract-whose").click()
    page.get_by_label("Name or id").fill("lee")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("Some of these labels were given with another key.")).to_be_visible()
    reader = keys.create("review")
    page = windows.open(service)
    sign_in(page, reader, PATH)
    expect(page.locator("#rows tr")).to_have_count(4)
    expect(page.locator("#rows input, #retract-whose")).to_have_count(0)


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["wide", "phone"])
def test_hostile_labels_are_text_and_every_state_is_accessible(
    service: Service, page: Page, size: tuple[int, int]
) -> None:
    configure(service, "acme")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for number, url in enumerate(
        ["http://a.test/<script>alert(1)</script>", f"http://b.test/{'x' * 5000}", f"http://c.test/{HOSTILE}"]
    ):
        label(service, url, 1, HOSTILE, f"{HOSTILE}-{number}")
    page.goto(PATH)
    expect(page.locator("#rows tr")).to_have_count(3)
    expect(page.locator("#rows a, #rows img, #rows script")).to_have_count(0)
    assert "\u202e" not in page.locator("#rows").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe(page) == []
    page.locator("#rows .open").nth(1).click()
    expect(page.get_by_role("button", name="Show all 5,014 characters")).to_be_visible()
    expect(page.get_by_text("When it was answered")).to_be_visible()
    assert axe(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Take back …").click()
    expect(page.get_by_label("Reason")).to_be_focused()
    assert axe(page) == []
