"""API keys. A key allows what its roles allow, for the tenants that it names; it may carry a moderator's name.

A key is `sluice_ID_SECRET`. The id is public: lists, the audit and the log have it. The secret is 256 random bits, and
only its SHA-256 is stored: so many bits cannot be guessed, and a slow hash would only slow down requests.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Iterable
from typing import Final

import msgspec

from app.auth.errors import NotThisModerator
from app.learning.errors import SluiceError, short_repr

ROLES: Final = ("predict", "feedback", "review", "admin", "metrics")
ALL: Final = "*"
TOKEN: Final = re.compile(r"sluice_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\*?|\*")
NAME: Final = re.compile(r"[^\x00-\x1f\x7f]{0,128}")
MODERATOR: Final = re.compile(r"[^\x00-\x1f\x7f]{1,200}")


class BadKey(SluiceError):
    """A key with a wrong name, role, tenant, moderator or expiry."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key as it is stored; times are milliseconds since 1970."""

    id: str
    name: str
    roles: tuple[str, ...]
    tenants: tuple[str, ...]  # names, prefixes such as `acme-*`, or `*`
    hash: str
    created_at: int
    expires_at: int | None = None
    made_by: str | None = None  # the id of the key that made it; None: the command line, or no key was needed
    moderator: str | None = None  # who gives the labels; None: the person that the request names
    speaks_for_others: bool = False  # a request may still name another moderator
    revision: int = 0  # of two records of one key, the one with the higher revision is the newer one

    def has(self, role: str) -> bool:
        """Return whether it has a role."""
        return role in self.roles

    def covers(self, tenant: str) -> bool:
        """Return whether it is for a tenant."""
        return any(_matches(pattern, tenant) for pattern in self.tenants)

    def moderator_for(self, named: str | None) -> str | None:
        """Return the moderator of a request that names one, or none; NotThisModerator if it may not name this one."""
        if named is None or named == self.moderator:
            return self.moderator
        if self.moderator is None or self.speaks_for_others:
            return named
        raise NotThisModerator(named, self.moderator)

    def is_valid(self, now: int) -> bool:
        """Return whether it has not expired."""
        return self.expires_at is None or now < self.expires_at

    def matches(self, secret: str) -> bool:
        """Return whether this is its secret, in constant time."""
        return hmac.compare_digest(self.hash, _hash(secret))


def now_milliseconds() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def new_key(  # noqa: PLR0913, PLR0917 - the fields of a key
    name: str,
    roles: Iterable[str],
    tenants: Iterable[str],
    now: int,
    expires_at: int | None = None,
    made_by: str | None = None,
    *,
    moderator: str | None = None,
    speaks_for_others: bool = False,
) -> tuple[Key, str]:
    """Return a new key, and the token that its owner sends; BadKey if it is not valid."""
    roles, tenants = tuple(dict.fromkeys(roles)), tuple(dict.fromkeys(tenants))
    _check(name, roles, tenants, now, expires_at)
    _check_moderator(moderator, speaks_for_others=speaks_for_others)
    identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = Key(
        id=identity,
        name=name,
        roles=tuple(role for role in ROLES if role in roles),
        tenants=tenants,
        hash=_hash(secret),
        created_at=now,
        expires_at=expires_at,
        made_by=made_by,
        moderator=moderator,
        speaks_for_others=speaks_for_others,
    )
    return key, f"sluice_{identity}_{secret}"


def parts_of(token: str) -> tuple[str, str] | None:
    """Return the id and the secret of a token; None if it is not a token."""
    match = TOKEN.fullmatch(token)
    return (match[1], match[2]) if match else None


def _check(name: str, roles: tuple[str, ...], tenants: tuple[str, ...], now: int, expires_at: int | None) -> None:
    if not NAME.fullmatch(name):
        raise BadKey("the name of a key must have at most 128 characters, and no control characters")
    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        found = f"{short_repr(unknown[0])} is not a role" if unknown else "a key needs a role"
        raise BadKey(f"{found}; the roles are {', '.join(ROLES)}")
    wrong = [tenant for tenant in tenants if not PATTERN.fullmatch(tenant)]
    if wrong or not tenants:
        found = f"{short_repr(wrong[0])} is not a tenant or a prefix" if wrong else "a key needs a tenant"
        raise BadKey(f"{found}; write acme for one tenant, acme-* for a prefix, * for all")
    if expires_at is not None and expires_at <= now:
        raise BadKey("the expiry of a key must be in the future")


def _check_moderator(moderator: str | None, *, speaks_for_others: bool) -> None:
    if moderator is None and speaks_for_others:
        raise BadKey("speaks_for_others needs a moderator: with a key without one, a request may name anybody")
    if moderator is not None and not MODERATOR.fullmatch(moderator):
        raise BadKey("the moderator of a key must have 1 to 200 characters, and no control characters")


def _matches(pattern: str, tenant: str) -> bool:
    return tenant.startswith(pattern[:-1]) if pattern.endswith(ALL) else tenant == pattern


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
