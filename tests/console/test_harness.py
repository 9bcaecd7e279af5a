"""The harness itself: it must notice what the tests of the console rely on."""

import pytest
from playwright.sync_api import Page

from tests.console.axe import axe
from tests.console.conftest import Windows, in_thread, sign_in
from tests.console.tenants import Keys, fill, mails, urls
from tests.console.watch import Watch
from tests.reviews import queue
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


def test_a_person_signs_in_and_nothing_is_wrong(page: Page, service: Service, keys: Keys, watch: Watch) -> None:
    fill(service, "acme", urls(3))
    sign_in(page, keys.create(moderator="kim"), "/console/tenants/acme/review")
    assert page.get_by_role("heading", name="Review").is_visible()
    assert watch.problems == []
    assert watch.other_hosts() == set()


def test_what_goes_wrong_in_a_page_is_noticed(page: Page, watch: Watch) -> None:
    page.evaluate("console.error('told')")
    page.evaluate("setTimeout(() => { throw new Error('thrown'); })")
    page.evaluate("fetch('https://elsewhere.example/').catch(() => {})")
    page.evaluate("fetch('/nowhere')")
    page.evaluate("try { document.body.innerHTML = '<b>x</b>'; } catch {}")
    page.wait_for_timeout(300)
    for words in ("told", "thrown", "https://elsewhere.example/", "404: GET", "policy: require-trusted-types-for"):
        assert any(words in each for each in watch.problems), (words, watch.problems)
    watch.expect("")


def test_a_queue_can_be_filled(service: Service) -> None:
    fill(service, "links", urls(5))
    fill(service, "mail", mails(2))
    in_thread(queue, service.store_url, "links", [0.5, None])
    assert service.request("GET", "/tenants/links/review").json()["waiting"] == 6
    assert service.request("GET", "/tenants/mail/review").json()["items"][0]["input"]["kind"] == "email"


def test_axe_finds_what_people_cannot_use(windows: Windows, shared_service: Service) -> None:
    page = windows.open(shared_service, "/console/sign-in")
    assert axe(page) == []
    page.evaluate("document.querySelector('label').remove()")
    assert any("label" in each for each in axe(page))
