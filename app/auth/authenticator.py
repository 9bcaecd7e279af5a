"""Authentication and authorisation by API key. All keys are in memory, so that no request waits for the store."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from app.auth.errors import Forbidden, KeysUnread, KeyUnknown, Unauthenticated
from app.auth.keyring import Change, Keyring
from app.auth.keys import ALL, BadKey, Key, new_key, now_milliseconds, parts_of
from app.storage.errors import StoreUnavailable

POLL_SECONDS: Final = 0.5  # every worker refuses a revoked key within a second
NO_KEY: Final = "send a key: Authorization: Bearer sluice_..., or X-API-Key"
WRONG_KEY: Final = "the key is not valid: it may be mistyped, expired or revoked"
NO_KEY_LEFT: Final = "no key is left, and access stays closed: create one with sluice keys create"
logger = logging.getLogger("sluice.access")


class Authenticator:
    """The keys of a service, as one worker knows them.

    `mode` is `open`: no key is needed; `required`: a key is always needed; `auto`: as soon as there is one, and for
    ever after.
    """

    def __init__(
        self, keyring: Keyring | None = None, mode: str = "open", now: Callable[[], int] = now_milliseconds
    ) -> None:
        self._keyring = keyring or Keyring()
        self._now = now
        self._keys: Mapping[str, Key] = {}  # the keyring's; a request looks nowhere else
        self._is_read = False
        self.mode = mode
        self.is_open = mode == "open"  # every caller may do everything

    @property
    def notes(self) -> list[str]:
        """What the operator should know about the keys."""
        left = self._keys or self.is_open or not self._keyring.was_used
        return [*self._keyring.troubles.values(), *self._keyring.notes, *([] if left else [NO_KEY_LEFT])]

    @property
    def is_ready(self) -> bool:
        """Whether requests can be authenticated."""
        return self._is_read or self.is_open

    def authorise(self, token: str | None, role: str | None) -> Key | None:
        """Return the caller's key, which has the role; None where no key is needed."""
        if role is None or self.is_open:
            return None
        if not self._is_read:
            raise KeysUnread
        key = self._authenticate(token)
        check_role(key, role)
        return key

    def identify(self, token: str | None) -> Key | None:
        """Return the caller's key if it is valid: for public routes that show more to some callers."""
        try:
            return self._authenticate(token)
        except Unauthenticated:
            return None

    def key(self, identity: str) -> Key | None:
        """Return a key by its id if it is valid: for sessions, which have shown its secret before."""
        if not self._is_read:
            raise KeysUnread
        key = self._keys.get(identity)
        return key if key is not None and key.is_valid(self._now()) else None

    def _authenticate(self, token: str | None) -> Key:
        if token is None:
            raise Unauthenticated(NO_KEY)
        parts = parts_of(token)
        key = self._keys.get(parts[0]) if parts else None
        if parts is None or key is None or not key.matches(parts[1]) or not key.is_valid(self._now()):
            raise Unauthenticated(WRONG_KEY)
        return key

    async def read(self) -> None:
        """Read the keys again, if they have changed."""
        try:
            await self._keyring.read()
        finally:
            self._refresh()

    def _refresh(self) -> None:
        self._keys, self._is_read = self._keyring.keys, self._keyring.is_read
        opens = self.mode == "auto" and self._is_read and not self._keyring.was_used
        self.is_open = self.mode == "open" or opens

    async def follow(self) -> None:
        """Read changed keys, until cancelled. While the store is not reachable, the last known keys stay valid."""
        while True:
            try:
                await self.read()
            except StoreUnavailable:
                pass  # the follower of the logs reports it
            except Exception:
                logger.exception("the keys cannot be read")
            await asyncio.sleep(POLL_SECONDS)

    async def create(  # noqa: PLR0913 - the fields of a key
        self,
        name: str,
        roles: list[str],
        tenants: list[str],
        expires_at: int | None,
        by: Key | None,
        *,
        moderator: str | None = None,
        speaks_for_others: bool = False,
    ) -> tuple[Key, str]:
        """Create a key; return it with its secret. It is for tenants of the caller, and ends with the caller's key."""
        key, token = new_key(
            name,
            roles,
            tenants,
            self._now(),
            expires_at,
            by.id if by else None,
            moderator=moderator,
            speaks_for_others=speaks_for_others,
        )
        if by is not None and not _within(key, by):
            raise Forbidden("a key can only be created for tenants of your own key")

        def decide(keys: Mapping[str, Key]) -> Change:
            maker = self._maker(keys, by)
            if expires_at is None and maker is not None:
                return {key.id: msgspec.structs.replace(key, expires_at=maker.expires_at)}
            _check_end(expires_at, maker)
            return {key.id: key}

        made = (await self._change(decide))[key.id]
        assert made is not None
        return made, token

    async def revoke(self, identity: str, by: Key | None) -> list[Key]:
        """Revoke a key at once, with the keys that it made and those that they made; return them."""
        revoked: list[Key] = []

        def decide(keys: Mapping[str, Key]) -> Change:
            revoked[:] = _with_descendants(_find(keys, identity, by), keys)
            return dict.fromkeys(key.id for key in revoked)

        await self._change(decide)
        return revoked

    async def rotate(self, identity: str, overlap_seconds: int, by: Key | None) -> tuple[Key, str]:
        """Create a key in place of one that expires soon, so that its owner has time to change over.

        The new key has the old one's place: the keys that the old one made now belong to the new one.
        """
        made: list[tuple[Key, str]] = []

        def decide(keys: Mapping[str, Key]) -> Change:
            old, now = _find(keys, identity, by), self._now()
            maker = self._maker(keys, by)
            made_by = old.made_by
            if maker is not None and maker.id != old.id:  # the caller gets the secret of a key that is not its own
                _check_end(old.expires_at, maker)
                made_by = maker.id
            new, token = new_key(
                old.name,
                old.roles,
                old.tenants,
                now,
                old.expires_at,
                made_by,
                moderator=old.moderator,
                speaks_for_others=old.speaks_for_others,
            )
            made[:] = [(new, token)]
            ends = min(now + 1000 * overlap_seconds, old.expires_at or 2**63 - 1)
            children = [key for key in keys.values() if key.made_by == old.id]
            changed = {key.id: _revised(key, made_by=new.id) for key in children}
            return {**changed, new.id: new, old.id: _revised(old, expires_at=ends)}

        await self._change(decide)
        return made[0]

    async def listed(self, by: Key | None) -> list[Key]:
        """Return all keys that the caller may see, the oldest first."""
        await self.read()
        return sorted(_visible(self._keys, by), key=lambda key: (key.created_at, key.id))

    def _maker(self, keys: Mapping[str, Key], by: Key | None) -> Key | None:
        """Return the caller's key as it is now; it may have been revoked since the request began."""
        if by is None:
            return None
        maker = keys.get(by.id)
        if maker is None or not maker.is_valid(self._now()):
            raise Unauthenticated(WRONG_KEY)
        return maker

    async def _change(self, decide: Callable[[Mapping[str, Key]], Change]) -> Change:
        try:
            return await self._keyring.change(decide)
        except KeyUnknown:
            await self._keyring.confirm()  # a revocation that was not acknowledged must not look like one that was
            raise
        finally:
            self._refresh()


def check_role(key: Key, role: str) -> None:
    """Forbidden if a key does not have a role."""
    if not key.has(role):
        raise Forbidden.missing_role(role)


def _revised(key: Key, **changes: object) -> Key:
    return msgspec.structs.replace(key, revision=key.revision + 1, **changes)


def _check_end(expires_at: int | None, maker: Key | None) -> None:
    if maker is None or maker.expires_at is None or (expires_at is not None and expires_at <= maker.expires_at):
        return
    raise BadKey(
        "a key cannot be valid for longer than the key that makes it: yours expires at "
        f"{datetime.fromtimestamp(maker.expires_at / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    )


def _with_descendants(key: Key, keys: Mapping[str, Key]) -> list[Key]:
    """Return a key, the keys that it made, those that they made, and so on; a rotation can make this a circle."""
    made_by: dict[str | None, list[Key]] = {}
    for each in keys.values():
        made_by.setdefault(each.made_by, []).append(each)
    found, waiting = {key.id: key}, [key]
    while waiting:
        new = [child for child in made_by.get(waiting.pop().id, ()) if child.id not in found]
        found |= {child.id: child for child in new}
        waiting += new
    return list(found.values())


def _visible(keys: Mapping[str, Key], by: Key | None) -> list[Key]:
    return [key for key in keys.values() if by is None or _within(key, by)]


def _find(keys: Mapping[str, Key], identity: str, by: Key | None) -> Key:
    for key in _visible(keys, by):
        if key.id == identity:
            return key
    raise KeyUnknown(identity)


def _within(key: Key, by: Key) -> bool:
    """Return whether every tenant of a key also belongs to another key."""
    return all(any(_covers(wide, narrow) for wide in by.tenants) for narrow in key.tenants)


def _covers(wide: str, narrow: str) -> bool:
    if wide.endswith(ALL):
        return narrow.startswith(wide[:-1])
    return narrow == wide
