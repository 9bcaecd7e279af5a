"""Sessions of the console: a browser signs in with a key, and then sends the secret of a session as a cookie.

A session ends with its key, when its time is over, and when somebody signs out: within a second on every worker.
"""

import re
import secrets
import time
from collections.abc import Callable
from typing import Final

import msgspec

from app.auth.authenticator import WRONG_KEY, Authenticator
from app.auth.errors import KeysUnread, Unauthenticated
from app.auth.keys import Key
from app.storage.access.sessions import SessionStore
from app.storage.errors import StoreUnavailable

FRESH_SECONDS: Final = 0.5  # as long as a worker believes that a session has not ended
MOST_REMEMBERED: Final = 10_000
NO_SESSION: Final = "sign in: the session has ended"
TLS_COOKIE: Final = "__Host-sluice"  # browsers take a cookie with this prefix only from the host itself, over TLS
PLAIN_COOKIE: Final = "sluice"
is_secret = re.compile(r"[A-Za-z0-9_-]{43}").fullmatch


def cookie_name(scheme: str | None, forwarded_scheme: str | None) -> str:
    """Return the name of the cookie, by the scheme of a request and the `X-Forwarded-Proto` that a proxy adds.

    Over TLS the plain name counts for nothing: a neighbouring host could have set it.
    """
    first = (forwarded_scheme or "").partition(",")[0].strip().lower()
    return TLS_COOKIE if "https" in {scheme, first} else PLAIN_COOKIE


class Remembered(msgspec.Struct, gc=False):
    """A session that this worker knows."""

    key_id: str
    confirmed_at: float
    ends_at: float


class Sessions:
    """The sessions, as one worker knows them."""

    def __init__(
        self,
        authenticator: Authenticator,
        store: SessionStore | None = None,
        seconds: int = 43_200,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._authenticator = authenticator
        self._store = store
        self._now = now
        self._known: dict[str, Remembered] = {}  # by secret
        self.seconds = seconds

    async def begin(self, token: str) -> tuple[Key, str]:
        """Return the key of a token, and the secret of a new session; Unauthenticated if the key is not valid."""
        if not self._authenticator.is_ready:
            raise KeysUnread
        key = self._authenticator.identify(token)
        if key is None:
            raise Unauthenticated(WRONG_KEY)
        secret = secrets.token_urlsafe(32)
        if self._store is not None:
            await self._store.add(secret, key.id, self.seconds)
        self._remember(secret, key.id)
        return key, secret

    async def key_of(self, secret: str) -> Key:
        """Return the key of a session; Unauthenticated if it has ended.

        While the store is not reachable, a session that this worker knows goes on, as keys do.
        """
        if not is_secret(secret):
            raise Unauthenticated(NO_SESSION)
        known, now = self._known.get(secret), self._now()
        if known is None or now - known.confirmed_at >= FRESH_SECONDS:
            known = await self._confirm(secret, known)
        key = self._authenticator.key(known.key_id) if known is not None and now < known.ends_at else None
        if key is None:
            self._known.pop(secret, None)
            raise Unauthenticated(NO_SESSION)
        return key

    async def end(self, secret: str) -> None:
        """End a session; it may have ended before."""
        self._known.pop(secret, None)
        if self._store is not None and is_secret(secret):
            await self._store.remove(secret)

    async def _confirm(self, secret: str, known: Remembered | None) -> Remembered | None:
        if self._store is None:
            return known
        try:
            key_id = await self._store.key_id(secret)
        except StoreUnavailable:
            if known is None:
                raise
            return known
        if key_id is None:
            return None
        if known is None:
            return self._remember(secret, key_id)
        known.confirmed_at = self._now()
        return known

    def _remember(self, secret: str, key_id: str) -> Remembered:
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()  # they are read again
        now = self._now()
        self._known[secret] = known = Remembered(key_id, now, now + self.seconds)
        return known
