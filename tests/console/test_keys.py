"""Keys: create, rotate and revoke them; secrets are shown once."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.axe import axe
from tests.console.conftest import Windows, sign_in
from tests.console.tenants import Keys
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
SECRET = re.compile(r"sluice_[0-9a-f]{12}_\S+")
UNAUTHENTICATED, OK = 401, 200


@pytest.fixture
def admin(service: Service, keys: Keys, windows: Windows) -> Page:
    keys.create("review", tenants=["acme"], name="reader")
    assert keys.admin is not None
    page = windows.open(service, "/console/sign-in")
    sign_in(page, keys.admin, "/console/keys")
    expect(page.locator("#keys-rows tr")).to_have_count(2)
    return page


def create(page: Page, name: str, tenants: str = "acme", preset: str = "Moderator") -> str:
    """Create a key; return its secret."""
    page.get_by_role("button", name="Create a key").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name=preset, exact=True).click()
    page.get_by_label("For which tenants").fill(tenants)
    page.get_by_role("button", name="Create the key").click()
    secret = page.get_by_label("Secret of")
    expect(secret).to_have_value(SECRET)
    found = secret.input_value()
    page.get_by_role("button", name="I have kept it").click()
    return found


def works(service: Service, secret: str) -> bool:
    status = service.request("GET", "/tenants", headers={"x-api-key": secret}).status_code
    assert status in {OK, UNAUTHENTICATED}
    return status == OK


def test_a_key_is_created_and_its_secret_shown_once(admin: Page, service: Service) -> None:
    secret = create(admin, "<b>page</b>", "acme, mail-*")
    row = admin.locator("#keys-rows tr", has_text="<b>page</b>")
    expect(row).to_contain_text("mail-*")
    expect(row).to_contain_text("with administrator")
    assert works(service, secret)
    assert secret.rsplit("_", 1)[1] not in admin.content()
    assert axe(admin) == []


def test_what_is_wrong_with_a_key_is_said(admin: Page, windows: Windows) -> None:
    windows.watches[-1].expect(r"^422: POST \S+/keys")
    admin.get_by_role("button", name="Create a key").click()
    admin.get_by_label("For which tenants").fill("-acme")
    admin.get_by_role("button", name="Create the key").click()
    expect(admin.get_by_role("alert")).to_contain_text("is not a tenant or a prefix")
    assert axe(admin) == []


def test_a_key_is_revoked_with_those_that_it_made(admin: Page, service: Service, windows: Windows) -> None:
    lead = create(admin, "lead", preset="Administrator")
    other = windows.open(service, "/console/sign-in")
    sign_in(other, lead, "/console/keys")
    made = create(other, "made by lead")
    assert works(service, lead)
    assert works(service, made)
    admin.reload()
    admin.get_by_role("button", name="Revoke lead", exact=True).click()
    dialog = admin.get_by_role("dialog", name="Revoke a key")
    expect(dialog.get_by_role("listitem")).to_have_count(2)
    expect(dialog).to_contain_text("made by lead")
    assert axe(admin) == []
    dialog.get_by_role("button", name="Revoke 2 keys").click()
    expect(admin.locator("#keys-rows tr")).to_have_count(2)
    assert not works(service, lead)
    assert not works(service, made)
    windows.watches[-1].expect("^401: ")
    other.reload()
    other.wait_for_url("**/sign-in**")
    expect(admin.locator("#audit-rows")).to_contain_text("Revokes a key")
    admin.locator("#audit-action").select_option("key_revoked")
    expect(admin.locator("#audit-rows tr")).to_have_count(2)


def test_a_key_is_rotated(admin: Page, service: Service) -> None:
    old = create(admin, "page")
    admin.get_by_role("button", name="Rotate page", exact=True).click()
    admin.get_by_label("The old key stays valid for").select_option("3600")
    admin.get_by_role("button", name="Rotate", exact=True).last.click()
    secret = admin.get_by_label("Secret of")
    expect(secret).to_have_value(SECRET)
    new = secret.input_value()
    admin.get_by_role("button", name="I have kept it").click()
    assert new != old
    assert works(service, new)
    assert works(service, old)
    expect(admin.locator("#keys-rows tr", has_text="page").filter(has_text="minutes")).to_have_count(1)


def test_without_keys_the_first_one_is_explained(service: Service, windows: Windows) -> None:
    page = windows.open(service, "/console/keys")
    expect(page.get_by_text("No keys yet")).to_be_visible()
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_text("This is the first key.")).to_be_visible()
    expect(page.locator("#role-admin")).to_be_checked()
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
