"""A key never outlives the key that made it."""

import pytest

from app.auth.authenticator import Authenticator
from app.auth.errors import Unauthenticated
from app.auth.keyring import Keyring
from app.auth.keys import BadKey, Key
from app.storage.access.api_keys import ApiKeyStore
from app.storage.client.connection import Connection

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
NOW = 1_000_000


class Keys:
    """Keys in a store, at a time that the test decides."""

    def __init__(self, connection: Connection) -> None:
        self.now = NOW
        self.authenticator = Authenticator(Keyring(ApiKeyStore(connection)), "required", lambda: self.now)

    async def make(self, by: Key | None = None, expires_at: int | None = None) -> Key:
        key, _ = await self.authenticator.create("", ["admin"], ["*"], expires_at, by)
        return key

    async def left(self) -> set[str]:
        return {key.id for key in await self.authenticator.listed(None)}


@pytest.fixture
def keys(connection: Connection) -> Keys:
    return Keys(connection)


async def test_a_key_expires_with_its_maker_at_the_latest(keys: Keys) -> None:
    maker = await keys.make(expires_at=NOW + 1000)
    child = await keys.make(by=maker)
    assert (child.expires_at, child.made_by) == (maker.expires_at, maker.id)
    assert (await keys.make(by=child)).expires_at == maker.expires_at
    assert (await keys.make(by=maker, expires_at=NOW + 10)).expires_at == NOW + 10
    with pytest.raises(BadKey, match="cannot be valid for longer than the key that makes it: yours expires at 1970-"):
        await keys.make(by=maker, expires_at=NOW + 1001)


async def test_without_an_expiry_of_the_maker_any_expiry_is_allowed(keys: Keys) -> None:
    maker = await keys.make()
    assert maker.made_by is None
    assert (await keys.make(by=maker)).expires_at is None
    assert (await keys.make(by=maker, expires_at=NOW + 10**9)).expires_at == NOW + 10**9


async def test_a_revoked_key_takes_the_keys_that_it_made_with_it(keys: Keys) -> None:
    maker, other = await keys.make(), await keys.make()
    child, second = await keys.make(by=maker), await keys.make(by=maker)
    grandchild, unrelated = await keys.make(by=child), await keys.make(by=other)
    revoked = await keys.authenticator.revoke(maker.id, other)
    assert revoked[0] == maker
    assert {key.id for key in revoked} == {maker.id, child.id, second.id, grandchild.id}
    assert await keys.left() == {other.id, unrelated.id}


async def test_a_revoked_key_makes_no_more_keys(keys: Keys) -> None:
    maker = await keys.make()
    await keys.authenticator.revoke(maker.id, None)
    with pytest.raises(Unauthenticated):
        await keys.make(by=maker)  # a request that was authenticated before
    assert await keys.left() == set()


async def test_rotation_passes_the_keys_on_to_the_new_key(keys: Keys) -> None:
    old = await keys.make(expires_at=NOW + 10**9)
    child = await keys.make(by=old)
    new, _ = await keys.authenticator.rotate(old.id, 60, old)
    assert (new.expires_at, new.made_by) == (old.expires_at, None)
    keys.now += 60_000
    [kept] = [key for key in await keys.authenticator.listed(None) if key.id == child.id]
    assert kept.is_valid(keys.now), "the end of the old key does not end it"
    assert kept.made_by == new.id
    await keys.authenticator.revoke(old.id, None)
    assert await keys.left() == {new.id, child.id}
    await keys.authenticator.revoke(new.id, None)
    assert await keys.left() == set()


async def test_a_key_made_during_the_overlap_ends_with_it(keys: Keys) -> None:
    old = await keys.make()
    await keys.authenticator.rotate(old.id, 60, None)
    assert (await keys.make(by=old)).expires_at == NOW + 60_000


async def test_a_key_that_another_key_rotated_belongs_to_that_key(keys: Keys) -> None:
    """The caller that rotates a key sees the new secret."""
    owner, thief = await keys.make(), await keys.make()
    new, _ = await keys.authenticator.rotate(owner.id, 60, thief)
    assert new.made_by == thief.id
    assert {key.id for key in await keys.authenticator.revoke(thief.id, None)} == {thief.id, new.id}
    assert await keys.left() == {owner.id}


async def test_a_key_that_expires_later_than_the_callers_cannot_be_rotated(keys: Keys) -> None:
    lasting, short = await keys.make(), await keys.make(expires_at=NOW + 1000)
    with pytest.raises(BadKey, match="cannot be valid for longer"):
        await keys.authenticator.rotate(lasting.id, 60, short)
    assert (await keys.authenticator.rotate(short.id, 0, short))[0].expires_at == short.expires_at


async def test_keys_that_rotated_each_other_are_revoked_together(keys: Keys) -> None:
    maker = await keys.make()
    child = await keys.make(by=maker)
    again, _ = await keys.authenticator.rotate(maker.id, 60, child)
    assert {key.id for key in await keys.authenticator.revoke(child.id, None)} == {child.id, again.id}
