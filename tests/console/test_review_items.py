"""Review: how an item is shown. Nothing of it is rendered, and what decided is marked in place."""

import pytest
from playwright.sync_api import Page, expect

from tests.console.tenants import configure, fill, mails, predict_all, urls
from tests.console.test_review import PATH, open_review
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.fixture
def taught(service: Service) -> Service:
    """A tenant of texts that knows the word `free`."""
    configure(service, "notes")
    for number in range(20):
        word, label = ("free", 1) if number % 2 else ("lunch", -1)
        assert service.feedback("notes", text=f"{word} today", label=label).is_success
    return service


def test_what_decided_is_marked_in_place(page: Page, taught: Service) -> None:
    predict_all(
        taught, "notes", [{"text": "\U0001f600\U0001f600 a free \u202eoffer\u202c \U0001f600 free <b>lunch</b>"}]
    )
    open_review(page, "/console/tenants/notes/review")
    marked = page.locator("#item mark").all_text_contents()
    assert {"free", "lunch"} <= set(marked)
    assert "\u202e" not in (page.locator("#item").text_content() or "")
    assert "⟦RLO⟧offer⟦PDF⟧" in (page.locator("#item").text_content() or "")
    page.locator("#reasons button", has_text='"free"').first.hover()
    expect(page.locator("#item mark.active").first).to_have_text("free")
    page.locator("#reasons button", has_text='"free"').first.click()
    expect(page.locator("#reasons .names:not([hidden])")).to_contain_text("free")


def test_similar_items_show_how_they_were_labelled(page: Page, taught: Service) -> None:
    predict_all(taught, "notes", [{"text": "free today"}])
    open_review(page, "/console/tenants/notes/review")
    expect(page.locator("#similar")).to_contain_text("Of 10 that look alike, 10 are anomalies")


def test_a_url_is_no_link_and_an_email_is_text(page: Page, service: Service) -> None:
    fill(service, "links", [{"url": "http://login.example.org:8080/a.b?c=d"}])
    open_review(page, PATH)
    expect(page.locator("#item .url")).to_have_text("hxxp[:]//login[.]example[.]org:8080/a[.]b?c=d")
    fill(service, "mail", mails(1))
    open_review(page, "/console/tenants/mail/review")
    expect(page.locator("#item")).to_contain_text("Your parcel 1000 waits")
    expect(page.locator("#item")).to_contain_text("invoice-0.pdf")
    expect(page.locator("#item .links")).to_contain_text("hxxps[:]//airpost-fee[.]test/pay/0")
    page.get_by_text("All headers and the source").click()
    expect(page.locator("#item .source")).to_contain_text("Message-ID: <0@airpost.example>")
    assert page.locator("#item :is(a, img, form, iframe, p > a)").count() == 0


def test_a_long_text_is_cut_until_somebody_asks(page: Page, service: Service) -> None:
    fill(service, "notes", [{"text": "a" * 300_000}])
    open_review(page, "/console/tenants/notes/review")
    assert len(page.locator("#item").text_content() or "") < 21_000
    page.get_by_role("button", name="Show all").click()
    assert len(page.locator("#item").text_content() or "") > 300_000
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_features_without_an_input_are_a_table(page: Page, service: Service) -> None:
    fill(service, "cards", [{"features": {"amount": 12.5, "country": "AT"}}], keep_inputs="none")
    open_review(page, "/console/tenants/cards/review")
    expect(page.locator("#item table")).to_contain_text("country=AT")


def test_new_items_appear_by_themselves(page: Page, service: Service) -> None:
    configure(service, "links")
    page.goto(PATH)
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    predict_all(service, "links", urls(1))
    page.wait_for_selector("#item[data-id]", timeout=20_000)
