"""Keys in a real store, as several workers know them."""

import asyncio
from collections.abc import Callable

import pytest

from app.auth.authenticator import POLL_SECONDS, Authenticator
from app.auth.errors import Forbidden, KeysUnread, KeyUnknown, Unauthenticated
from app.auth.keyring import Keyring
from app.auth.keys import Key, now_milliseconds
from app.storage.access.api_keys import ApiKeyStore
from app.storage.client.connection import Connection
from tests.tenants.workers import until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


class Time:
    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def worker(connection: Connection, mode: str, now: Callable[[], int] = now_milliseconds) -> Authenticator:
    return Authenticator(Keyring(ApiKeyStore(connection)), mode, now)


async def made(authenticator: Authenticator, *roles: str, tenants: str = "*", by: Key | None = None) -> tuple[Key, str]:
    return await authenticator.create("", list(roles) or ["predict"], tenants.split(","), None, by)


async def test_a_key_authorises_its_roles(connection: Connection) -> None:
    authenticator = worker(connection, "required")
    key, token = await made(authenticator, "predict", "review")
    assert authenticator.authorise(token, "predict") == key
    with pytest.raises(Forbidden, match="needs a key with the role admin"):
        authenticator.authorise(token, "admin")
    assert authenticator.authorise(None, None) is None, "what everybody may ask"


@pytest.mark.parametrize("token", [None, "", "nonsense", "sluice_0123456789ab_" + "a" * 43])
async def test_any_other_token_is_refused(connection: Connection, token: str | None) -> None:
    authenticator = worker(connection, "required")
    await made(authenticator)
    with pytest.raises(Unauthenticated):
        authenticator.authorise(token, "predict")


async def test_the_secret_of_another_key_is_refused(connection: Connection) -> None:
    authenticator = worker(connection, "required")
    (first, _), (_, token) = await made(authenticator), await made(authenticator)
    with pytest.raises(Unauthenticated):
        authenticator.authorise(f"sluice_{first.id}_{token[20:]}", "predict")


async def test_only_hashes_are_in_the_store(connection: Connection) -> None:
    authenticator = worker(connection, "required")
    _, token = await made(authenticator)
    stored = await ApiKeyStore(connection).read()
    assert all(token[20:].encode() not in record for record in stored.records.values())


async def test_a_revoked_key_is_refused_everywhere_within_a_second(connection: Connection) -> None:
    here, there = (
        worker(connection, "required"),
        worker(connection, "required"),
    )
    following = asyncio.create_task(there.follow())
    key, token = await made(here)
    await until(lambda: there.identify(token) == key)
    await here.revoke(key.id, None)
    assert here.identify(token) is None, "at once"
    await until(lambda: there.identify(token) is None)
    assert POLL_SECONDS < 1.0, "which is promised"
    following.cancel()


async def test_an_expired_key_is_refused(connection: Connection) -> None:
    time = Time()
    authenticator = worker(connection, "required", time)
    _, token = await authenticator.create("", ["predict"], ["*"], time.now + 10, None)
    assert authenticator.authorise(token, "predict")
    time.now += 10
    with pytest.raises(Unauthenticated):
        authenticator.authorise(token, "predict")


async def test_a_rotated_key_stays_valid_for_the_overlap(connection: Connection) -> None:
    time = Time()
    authenticator = worker(connection, "required", time)
    old, old_token = await made(authenticator, "predict", "metrics", tenants="acme,shop-*")
    new, new_token = await authenticator.rotate(old.id, 60, None)
    assert (new.roles, new.tenants) == (old.roles, old.tenants)
    assert authenticator.authorise(old_token, "predict")
    assert authenticator.authorise(new_token, "predict") == new
    time.now += 60_000
    with pytest.raises(Unauthenticated):
        authenticator.authorise(old_token, "predict")
    assert authenticator.authorise(new_token, "predict") == new


async def test_a_rotated_key_keeps_its_moderator(connection: Connection) -> None:
    authenticator = worker(connection, "required")
    for speaks_for_others in (False, True):
        old, _ = await authenticator.create(
            "", ["feedback"], ["*"], None, None, moderator="kim", speaks_for_others=speaks_for_others
        )
        new, token = await authenticator.rotate(old.id, 60, None)
        assert (new.moderator, new.speaks_for_others) == ("kim", speaks_for_others)
        another = worker(connection, "required")
        await another.read()
        assert another.authorise(token, "feedback") == new


async def test_without_keys_access_is_open_only_in_the_modes_open_and_auto(
    connection: Connection,
) -> None:
    authenticators = {mode: worker(connection, mode) for mode in ("open", "auto", "required")}
    for authenticator in authenticators.values():
        await authenticator.read()
    assert {mode: authenticator.is_open for mode, authenticator in authenticators.items()} == {
        "open": True,
        "auto": True,
        "required": False,
    }
    await made(authenticators["required"])
    for authenticator in authenticators.values():
        await authenticator.read()
    assert {mode: authenticator.is_open for mode, authenticator in authenticators.items()} == {
        "open": True,
        "auto": False,
        "required": False,
    }


@pytest.mark.parametrize("mode", ["auto", "required"])
async def test_before_the_keys_are_read_every_request_is_refused(connection: Connection, mode: str) -> None:
    with pytest.raises(KeysUnread):
        worker(connection, mode).authorise("sluice_0123456789ab_" + "a" * 43, "predict")


async def test_a_key_for_some_tenants_cannot_manage_keys_of_others(connection: Connection) -> None:
    authenticator = worker(connection, "required")
    chief, _ = await made(authenticator, "admin")
    mine, _ = await made(authenticator, "admin", tenants="acme,acme-*")
    own, _ = await made(authenticator, "predict", tenants="acme-eu-*", by=mine)
    other, _ = await made(authenticator, "predict", tenants="shop", by=chief)
    assert {key.id for key in await authenticator.listed(mine)} == {mine.id, own.id}
    for tenants in ("shop", "*", "a*", "acme,shop"):
        with pytest.raises(Forbidden):
            await made(authenticator, "predict", tenants=tenants, by=mine)
    for identity in (other.id, chief.id):
        with pytest.raises(KeyUnknown):
            await authenticator.revoke(identity, mine)
        with pytest.raises(KeyUnknown):
            await authenticator.rotate(identity, 60, mine)
    await authenticator.revoke(own.id, mine)


async def test_an_unreadable_record_is_ignored(connection: Connection) -> None:
    authenticator = worker(connection, "required")
    _, token = await made(authenticator)
    store = ApiKeyStore(connection)
    await store.write(await store.versions(), {"0123456789ab": b"{}"}, {})
    await authenticator.read()
    assert authenticator.authorise(token, "predict")
    assert len(await authenticator.listed(None)) == 1
