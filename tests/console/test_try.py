"""The page "Try it": verdicts and reasons of inputs that are not kept."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.axe import axe
from tests.console.conftest import PHONE, Windows
from tests.console.labelled import learn
from tests.console.tenants import labelled_urls, mails
from tests.console.watch import Watch
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
PATH = "/console/tenants/acme/try"
URL = labelled_urls(1)[0][0]


@pytest.fixture(scope="module")
def tried(shared_service: Service) -> Service:
    learn(shared_service, "acme", 400)
    return shared_service


@pytest.fixture
def page(windows: Windows, tried: Service) -> Page:
    return windows.open(tried, PATH)


@pytest.fixture
def watch(page: Page, windows: Windows) -> Watch:
    assert page is not None
    return windows.watches[0]


def attempt(page: Page, text: str, kind: str = "URL", name: str = "Input") -> None:
    trial = page.get_by_role("region", name=name, exact=True)
    trial.get_by_role("button", name=kind, exact=True).click()
    trial.get_by_role("textbox").fill(text)
    trial.get_by_role("button", name="Try it").click()
    expect(trial.locator(".verdict")).to_be_visible()


def test_a_url_has_a_verdict_a_score_and_reasons(page: Page, tried: Service) -> None:
    before = tried.tenant("acme")
    attempt(page, URL)
    answer = tried.post("/tenants/acme/explain", {"url": URL, "explain": 30}).json()
    expect(page.locator(".verdict-word")).to_have_text("Anomaly" if answer["label"] == 1 else "Normal")
    expect(page.locator(".verdict")).to_contain_text(f"{answer['score']:.3f}".replace("-", "\u2212"))
    expect(page.get_by_role("img", name="the threshold")).to_be_visible()
    expect(page.locator("button.reason").first).to_contain_text(answer["reasons"][0]["text"])
    shown = page.locator(".result .raw").inner_text()
    assert "hxxp" in shown
    assert URL not in shown
    assert page.locator(".result mark").count() > 0
    assert {name: tried.tenant("acme")[name] for name in ("version", "digest", "review")} == {
        name: before[name] for name in ("version", "digest", "review")
    }


def test_a_reason_shows_its_place_and_its_features(page: Page) -> None:
    attempt(page, URL)
    placed = page.locator(".result mark").first.get_attribute("title")
    reason = page.locator("button.reason", has_text=placed or "?").first
    reason.focus()
    expect(page.locator(".result mark.active").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(reason).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".behind:visible code").first).to_be_visible()


def test_it_needs_no_mouse(page: Page) -> None:
    page.keyboard.type(URL)
    page.keyboard.press("Enter")
    expect(page.locator(".verdict")).to_be_visible()


@pytest.mark.parametrize("kind", ["URL", "E-mail", "Text", "Features"])
def test_there_are_examples_of_every_kind(page: Page, kind: str) -> None:
    page.get_by_role("button", name=kind, exact=True).click()
    for example in page.locator(".examples button").all():
        example.click()
        expect(page.locator(".verdict")).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)


def test_a_mail_is_opened_as_a_file_and_shown_as_text(page: Page, tmp_path: Path) -> None:
    mail = tmp_path / "parcel.eml"
    mail.write_text(str(mails(1)[0]["email"]), encoding="utf-8", newline="")
    page.locator("input[type=file]").set_input_files(mail)
    expect(page.locator(".opened")).to_contain_text("parcel.eml")
    expect(page.locator(".result .mail")).to_contain_text("pay the fee")
    expect(page.locator(".result .mail")).to_contain_text("invoice-0.pdf")
    assert page.locator(".result a").count() == 0
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("textbox")).to_be_visible()


def test_features_are_lines_or_json_and_mistakes_are_said(page: Page, watch: Watch) -> None:
    attempt(page, "amount 1500\ncountry NL\nnew_account true", "Features")
    page.get_by_role("textbox").fill('{"amount": }')
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid JSON")
    watch.expect("422: POST")
    page.get_by_role("textbox").fill('{"amount": null}')
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("alert")).to_contain_text("amount")
    expect(page.get_by_role("textbox")).to_have_attribute("aria-invalid", "true")


def test_two_inputs_are_compared(page: Page) -> None:
    attempt(page, URL)
    page.get_by_role("button", name="Compare two").click()
    attempt(page, "https://en.wikipedia.org/wiki/Sluice", name="Second input")
    expect(page.locator(".difference")).to_contain_text("apart")
    page.get_by_role("button", name="Close the second input").click()
    expect(page.locator(".difference")).to_be_hidden()


def test_a_long_text_is_cut_and_said_so(page: Page) -> None:
    page.get_by_role("button", name="Text", exact=True).click()
    page.get_by_role("textbox").fill("free " * 60_000)
    expect(page.locator(".opened")).to_contain_text("300,000 characters")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_text("Not read:").first).to_be_visible()


@pytest.mark.parametrize("size", [None, PHONE], ids=["wide", "phone"])
def test_it_is_accessible(page: Page, size: dict[str, int] | None) -> None:
    if size:
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
    assert axe(page) == []
    attempt(page, URL)
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
