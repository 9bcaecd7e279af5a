"""At the door: who asks, and whether that is allowed. All keys are in memory, so that nobody waits for the store."""

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

LOOK_SECONDS: Final = 0.5  # so a key that was revoked is refused by every worker within a second
NO_KEY: Final = "send a key: Authorization: Bearer sluice_..., or X-API-Key"
WRONG_KEY: Final = "this key is not valid: it may be mistyped, expired or revoked"
logger = logging.getLogger("sluice.access")
_decode = msgspec.json.Decoder(Key).decode


def now_milliseconds() -> int:
    """The time, as keys have it."""
    return time.time_ns() // 1_000_000


class Guard:
    """The keys of a service, as one worker knows them.

    `mode` is `open`: nobody needs a key; `required`: everybody does; `auto`: everybody does as soon as there is one.
    """

    def __init__(
        self, keyring: ApiKeyStore | None = None, mode: str = "open", now: Callable[[], int] = now_milliseconds
    ) -> None:
        self._keyring = keyring
        self._now = now
        self._keys: dict[str, Key] = {}
        self._version: int | None = None  # None: nothing was read yet
        self.mode = mode

    @property
    def is_open(self) -> bool:
        """Whether everybody may do everything."""
        return self.mode == "open" or (self.mode == "auto" and self._version is not None and not self._keys)

    @property
    def has_keys(self) -> bool:
        """Whether there are keys."""
        return bool(self._keys)

    def admit(self, token: str | None, role: str | None) -> Key | None:
        """The key of who asks, which has the role; None where no key is needed."""
        if role is None or self.is_open:
            return None
        if self._version is None:
            raise KeysUnread
        key = self._known(token)
        if not key.has(role):
            raise Forbidden.for_want_of(role)
        return key

    def recognized(self, token: str | None) -> Key | None:
        """The key of who asks, if there is a valid one: for what everybody may see, and some see more of."""
        try:
            return self._known(token)
        except Unauthenticated:
            return None

    def _known(self, token: str | None) -> Key:
        if token is None:
            raise Unauthenticated(NO_KEY)
        parts = parts_of(token)
        key = self._keys.get(parts[0]) if parts else None
        if parts is None or key is None or not key.opens(parts[1]) or not key.lives(self._now()):
            raise Unauthenticated(WRONG_KEY)
        return key

    async def read(self) -> None:
        """Read the keys anew, if they have changed."""
        assert self._keyring is not None
        if self._version is not None and await self._keyring.version() == self._version:
            return
        version, records = await self._keyring.read()
        self._keys = {name: key for name, record in records.items() if (key := _key(name, record)) is not None}
        self._version = version

    async def follow(self) -> None:
        """Keep up with changes, until cancelled. While the store is away, the keys known last are good."""
        while True:
            try:
                await self.read()
            except StoreUnavailable:
                pass  # the follower of the logs says so
            except Exception:
                logger.exception("reading the keys")
            await asyncio.sleep(LOOK_SECONDS)

    async def create(
        self, name: str, roles: list[str], tenants: list[str], expires_at: int | None, by: Key | None
    ) -> tuple[Key, str]:
        """A new key, and its secret; whoever is not for all tenants can only make keys for its own."""
        key, token = new_key(name, roles, tenants, self._now(), expires_at)
        if by is not None and not _within(key, by):
            raise Forbidden("a key can only be made for tenants that your own key is for")
        await self._change({key.id: key})
        return key, token

    async def revoke(self, identity: str, by: Key | None) -> Key:
        """End a key at once."""
        key = await self._of(identity, by)
        await self._change({key.id: None})
        return key

    async def rotate(self, identity: str, overlap_seconds: int, by: Key | None) -> tuple[Key, str]:
        """A new key in the place of one that ends soon, so that nobody is locked out meanwhile."""
        old = await self._of(identity, by)
        now = self._now()
        ends = min(now + 1000 * overlap_seconds, old.expires_at or 2**63 - 1)
        key, token = new_key(old.name, old.roles, old.tenants, now, old.expires_at)
        await self._change({key.id: key, old.id: msgspec.structs.replace(old, expires_at=ends)})
        return key, token

    async def listed(self, by: Key | None) -> list[Key]:
        """All keys that are the asker's business, the oldest first."""
        await self.read()
        keys = [key for key in self._keys.values() if by is None or _within(key, by)]
        return sorted(keys, key=lambda key: (key.created_at, key.id))

    async def _of(self, identity: str, by: Key | None) -> Key:
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
        logger.error("key %s cannot be read and is refused: %s", name, error)  # noqa: TRY400 - the sentence says it all
        return None


def _within(key: Key, by: Key) -> bool:
    """Whether every tenant of a key is also one of another's."""
    return all(any(_covers(wide, narrow) for wide in by.tenants) for narrow in key.tenants)


def _covers(wide: str, narrow: str) -> bool:
    if wide.endswith(ALL):
        return narrow.startswith(wide[:-1])
    return narrow == wide
