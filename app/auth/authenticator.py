"""Authentication and authorisation by API key. All keys are in memory, so that no request waits for the store."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

import msgspec

from app.auth.errors import Forbidden, KeysUnread, KeyUnknown, Unauthenticated
from app.auth.keys import ALL, Key, new_key, parts_of
from app.storage.api_keys import ApiKeyStore
from app.storage.errors import StoreUnavailable

POLL_SECONDS: Final = 0.5  # every worker refuses a revoked key within a second
NO_KEY: Final = "send a key: Authorization: Bearer sluice_..., or X-API-Key"
WRONG_KEY: Final = "the key is not valid: it may be mistyped, expired or revoked"
logger = logging.getLogger("sluice.access")
_decode = msgspec.json.Decoder(Key).decode


def now_milliseconds() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Authenticator:
    """The keys of a service, as one worker knows them.

    `mode` is `open`: no key is needed; `required`: a key is always needed; `auto`: as soon as there is one.
    """

    def __init__(
        self, keyring: ApiKeyStore | None = None, mode: str = "open", now: Callable[[], int] = now_milliseconds
    ) -> None:
        self._keyring = keyring
        self._now = now
        self._keys: dict[str, Key] = {}
        self._version: int | None = None  # None: nothing was read yet
        self.mode = mode
        self.is_open = mode == "open"  # every caller may do everything

    @property
    def has_keys(self) -> bool:
        """Whether there are keys."""
        return bool(self._keys)

    def authorise(self, token: str | None, role: str | None) -> Key | None:
        """Return the caller's key, which has the role; None where no key is needed."""
        if role is None or self.is_open:
            return None
        if self._version is None:
            raise KeysUnread
        key = self._authenticate(token)
        if not key.has(role):
            raise Forbidden.missing_role(role)
        return key

    def identify(self, token: str | None) -> Key | None:
        """Return the caller's key if it is valid: for public routes that show more to some callers."""
        try:
            return self._authenticate(token)
        except Unauthenticated:
            return None

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
        assert self._keyring is not None
        if self._version is not None and await self._keyring.version() == self._version:
            return
        version, records = await self._keyring.read()
        self._keys = {name: key for name, record in records.items() if (key := _key(name, record)) is not None}
        self._version = version
        self.is_open = self.mode == "open" or (self.mode == "auto" and not self._keys)

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

    async def create(
        self, name: str, roles: list[str], tenants: list[str], expires_at: int | None, by: Key | None
    ) -> tuple[Key, str]:
        """Create a key; return it with its secret. A caller can only create keys for its own tenants."""
        key, token = new_key(name, roles, tenants, self._now(), expires_at)
        if by is not None and not _within(key, by):
            raise Forbidden("a key can only be created for tenants of your own key")
        await self._change({key.id: key})
        return key, token

    async def revoke(self, identity: str, by: Key | None) -> Key:
        """Revoke a key at once."""
        key = await self._find(identity, by)
        await self._change({key.id: None})
        return key

    async def rotate(self, identity: str, overlap_seconds: int, by: Key | None) -> tuple[Key, str]:
        """Create a key in place of one that expires soon, so that its owner has time to change over."""
        old = await self._find(identity, by)
        now = self._now()
        ends = min(now + 1000 * overlap_seconds, old.expires_at or 2**63 - 1)
        key, token = new_key(old.name, old.roles, old.tenants, now, old.expires_at)
        await self._change({key.id: key, old.id: msgspec.structs.replace(old, expires_at=ends)})
        return key, token

    async def listed(self, by: Key | None) -> list[Key]:
        """Return all keys that the caller may see, the oldest first."""
        await self.read()
        keys = [key for key in self._keys.values() if by is None or _within(key, by)]
        return sorted(keys, key=lambda key: (key.created_at, key.id))

    async def _find(self, identity: str, by: Key | None) -> Key:
        found = {key.id: key for key in await self.listed(by)}
        if identity not in found:
            raise KeyUnknown(identity)
        return found[identity]

    async def _change(self, keys: dict[str, Key | None]) -> None:
        assert self._keyring is not None
        await self._keyring.change({name: msgspec.json.encode(key) if key else None for name, key in keys.items()})
        await self.read()


def _key(name: str, record: bytes) -> Key | None:
    try:
        return _decode(record)
    except msgspec.MsgspecError as error:
        logger.error("key %s cannot be read and is refused: %s", name, error)  # noqa: TRY400 - the message has it all
        return None


def _within(key: Key, by: Key) -> bool:
    """Return whether every tenant of a key also belongs to another key."""
    return all(any(_covers(wide, narrow) for wide in by.tenants) for narrow in key.tenants)


def _covers(wide: str, narrow: str) -> bool:
    if wide.endswith(ALL):
        return narrow.startswith(wide[:-1])
    return narrow == wide
