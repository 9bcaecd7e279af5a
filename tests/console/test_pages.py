"""Who may see which page, and how a person signs in and out."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

from app.console.menu import TENANT_PAGES, WHOLE_PAGES
from tests.console.conftest import Windows, sign_in
from tests.console.tenants import Keys, fill, urls
from tests.console.watch import Watch
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
PAGES = {page.title: page for page in (*TENANT_PAGES.values(), *WHOLE_PAGES.values())}
ROLES = [("feedback",), ("predict", "feedback"), ("review",), ("feedback", "review"), ("predict", "review", "admin")]
REFUSED = r"403: GET \S+/console/"  # the HTTP API must not be asked for what a role may not do


@pytest.fixture(scope="module")
def keys(shared_service: Service) -> Keys:
    keys = Keys(shared_service)
    keys.create()  # from now on a key is needed
    for tenant in ("acme", "acme-1", "links"):
        fill(shared_service, tenant, urls(3))
    return keys


@pytest.fixture
def page(windows: Windows, shared_service: Service) -> Page:
    return windows.open(shared_service, "/console/sign-in")


def menu(page: Page) -> set[str]:
    """Return the titles of the pages that the menu offers."""
    links = page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link")
    return {link.locator("span").first.inner_text() for link in links.all()} - {"HTTP API"}


@pytest.mark.parametrize("roles", ROLES, ids="+".join)
def test_what_a_role_may_not_do_is_not_shown(page: Page, keys: Keys, watch: Watch, roles: tuple[str, ...]) -> None:
    watch.expect(REFUSED)
    allowed = {title for title, each in PAGES.items() if each.roles <= set(roles)}
    sign_in(page, keys.create(*roles), "/console/tenants/acme/review")
    assert menu(page) == allowed
    for title, each in PAGES.items():
        place = f"tenants/acme/{each.name}" if each.name in TENANT_PAGES else each.name
        answer = page.goto(f"/console/{place}")
        assert answer is not None
        assert answer.status == (200 if title in allowed else 403), title
        if title not in allowed:
            expect(page.get_by_role("heading", name="Not allowed")).to_be_visible()
            assert menu(page) <= allowed


def test_a_foreign_tenant_is_refused_whether_or_not_it_exists(page: Page, keys: Keys, watch: Watch) -> None:
    sign_in(page, keys.create(tenants=["acme", "acme-*"]), "/console/tenants/acme-1/review")
    watch.expect(REFUSED)
    for tenant in ("links", "missing"):
        answer = page.goto(f"/console/tenants/{tenant}/review")
        assert answer is not None
        assert answer.status == 403
        assert f"for tenant {tenant}." in page.get_by_role("main").inner_text()


@pytest.mark.parametrize(
    ("roles", "first"), [(("review",), "All tenants"), (("feedback",), "Which tenant?"), (("admin",), "Keys")]
)
def test_a_person_begins_with_a_page_that_is_theirs(page: Page, keys: Keys, roles: tuple[str, ...], first: str) -> None:
    secret = keys.create(*roles)
    page.goto("/console")
    page.get_by_label("Key").fill(secret)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name=first)).to_be_visible()


def test_a_moderator_finds_their_tenants_by_name(page: Page, keys: Keys) -> None:
    sign_in(page, keys.create("feedback", tenants=["acme", "links", "mail-*"]))
    assert page.locator("#known option").evaluate_all("all => all.map(each => each.value)") == ["acme", "links"]
    page.get_by_label("Tenant").fill("links")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/tenants/links/review")


@pytest.mark.usefixtures("keys")
def test_a_wrong_key_is_refused_in_words(page: Page, watch: Watch) -> None:
    watch.expect("401: POST")
    page.get_by_label("Key").fill("sluice_0123456789ab_nonsense")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("the key is not valid")
    expect(page.get_by_label("Key")).to_be_focused()
    assert page.url.endswith("/console/sign-in")


def test_a_person_comes_to_the_page_that_they_wanted(page: Page, keys: Keys) -> None:
    secret = keys.create()
    wanted = "/console/tenants/acme/review?x=1"
    page.goto(wanted)
    assert "/console/sign-in?next=" in page.url
    page.get_by_label("Key").fill(secret)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{wanted}")


@pytest.mark.parametrize(
    "wanted",
    [
        "https://elsewhere.example/console",
        "//elsewhere.example/console",
        r"\\elsewhere.example\console",
        "/\t/elsewhere.example/console",
        "javascript:alert(1)//console",
        "data:text/html,<script>alert(1)</script>",
        "/console/../docs",
        "/consoles",
        "/console@elsewhere.example",
    ],
)
def test_nobody_is_led_to_another_site(page: Page, keys: Keys, watch: Watch, wanted: str) -> None:
    secret = keys.create()
    page.goto("/console/sign-in?" + page.evaluate("next => new URLSearchParams({next}).toString()", wanted))
    page.get_by_label("Key").fill(secret)
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/tenants")
    assert watch.other_hosts() == set()


def test_no_script_can_read_the_session(page: Page, keys: Keys) -> None:
    secret = keys.create()
    sign_in(page, secret)
    (cookie,) = page.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("sluice", True, "Strict")
    assert page.evaluate("document.cookie") == ""
    stored = page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}]) + document.documentElement.outerHTML"
    )
    assert secret not in stored
    assert cookie["value"] not in stored


def test_signing_out_ends_the_session_in_every_window(page: Page, keys: Keys, watch: Watch) -> None:
    sign_in(page, keys.create(), "/console/tenants/acme/review")
    cookies = page.context.cookies()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/console/sign-in")
    assert page.context.cookies() == []
    page.context.add_cookies([{"name": each["name"], "value": each["value"], "url": page.url} for each in cookies])
    page.goto("/console/tenants/acme/review")
    assert "/console/sign-in?next=" in page.url, "a copy of the cookie is worth nothing"
    watch.expect("401: ")


def test_a_revoked_key_ends_the_session(page: Page, keys: Keys, watch: Watch) -> None:
    secret = keys.create()
    sign_in(page, secret, "/console/tenants/acme/review")
    watch.expect("401: ")
    keys.revoke(secret)
    time.sleep(1.0)
    page.reload()
    assert "/console/sign-in?next=" in page.url
    page.get_by_label("Key").fill(secret)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("the key is not valid")


def test_another_site_cannot_embed_the_console(page: Page, keys: Keys) -> None:
    sign_in(page, keys.create())
    answer = page.goto("/console/tenants")
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"unsafe|https?:|data:|\*", policy)
    assert answer.headers["cache-control"] == "no-store"


def test_the_assets_are_kept_for_good_under_addresses_that_change_with_them(page: Page, watch: Watch) -> None:
    assets = {url for url in watch.requests if "/assets/" in url}
    assert assets
    for url in assets:
        answer = page.request.get(url)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable", url
        other = re.sub(r"/assets/\w+/", "/assets/0000000000000000/", url)
        assert page.request.get(other).status == 404


def test_a_page_has_at_most_150_kb_of_scripts(page: Page, keys: Keys, watch: Watch) -> None:
    sign_in(page, keys.create("admin", "predict", "feedback", "review"))
    for each in PAGES.values():
        place = f"tenants/acme/{each.name}" if each.name in TENANT_PAGES else each.name
        watch.requests.clear()
        page.goto(f"/console/{place}")
        page.wait_for_timeout(500)
        scripts = {url for url in watch.requests if url.endswith(".js")}
        size = sum(len(page.request.get(url).body()) for url in scripts)
        assert 0 < size <= 150_000, (each.name, size, scripts)


def test_without_keys_everybody_works_and_nobody_signs_out(windows: Windows, service: Service) -> None:
    service.feedback("acme", label=1, features={"a": 1})
    page = windows.open(service, "/console/tenants/acme/review")
    assert menu(page) == set(PAGES)
    assert page.get_by_role("button", name="Sign out").count() == 0
