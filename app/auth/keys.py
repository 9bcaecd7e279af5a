"""API keys. Whoever has one may do what its roles say, with the tenants that it names.

A key is `sluice_ID_SECRET`. The id is no secret: it stands in lists, in the audit and in the log. Of the secret, 256
random bits, only a hash is kept: there is nothing to guess, so a slow hash would only slow down requests.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from typing import Final

import msgspec

from app.learning.errors import SluiceError, short_repr

ROLES: Final = ("predict", "feedback", "review", "admin", "metrics")
ALL: Final = "*"
TOKEN: Final = re.compile(r"sluice_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\*?|\*")
NAME: Final = re.compile(r"[^\x00-\x1f\x7f]{0,128}")


class BadKey(SluiceError):
    """A key that cannot be made so, with the sentence that says why."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key as it is kept; times are milliseconds since 1970."""

    id: str
    name: str
    roles: tuple[str, ...]
    tenants: tuple[str, ...]  # names, or beginnings of names with a star behind
    hash: str
    created_at: int
    expires_at: int | None = None

    def has(self, role: str) -> bool:
        """Whether it may do what needs this role."""
        return role in self.roles

    def covers(self, tenant: str) -> bool:
        """Whether the tenant is one of its own."""
        return any(_matches(pattern, tenant) for pattern in self.tenants)

    def lives(self, now: int) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or now < self.expires_at

    def opens(self, secret: str) -> bool:
        """Whether this is its secret; takes as long for a nearly right one as for a wrong one."""
        return hmac.compare_digest(self.hash, _hash(secret))


def new_key(
    name: str, roles: Iterable[str], tenants: Iterable[str], now: int, expires_at: int | None = None
) -> tuple[Key, str]:
    """A key, and what its owner must send, which is told this once; BadKey if it makes no sense."""
    roles, tenants = tuple(dict.fromkeys(roles)), tuple(dict.fromkeys(tenants))
    _check(name, roles, tenants, now, expires_at)
    identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = Key(
        id=identity,
        name=name,
        roles=tuple(role for role in ROLES if role in roles),
        tenants=tenants,
        hash=_hash(secret),
        created_at=now,
        expires_at=expires_at,
    )
    return key, f"sluice_{identity}_{secret}"


def parts_of(token: str) -> tuple[str, str] | None:
    """The id and the secret in what somebody sent; None if it is no key."""
    match = TOKEN.fullmatch(token)
    return (match[1], match[2]) if match else None


def _check(name: str, roles: tuple[str, ...], tenants: tuple[str, ...], now: int, expires_at: int | None) -> None:
    if not NAME.fullmatch(name):
        raise BadKey("the name of a key has at most 128 characters, and no control characters")
    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        told = f"{short_repr(unknown[0])} is no role" if unknown else "a key needs a role"
        raise BadKey(f"{told}; the roles are {', '.join(ROLES)}")
    wrong = [tenant for tenant in tenants if not PATTERN.fullmatch(tenant)]
    if wrong or not tenants:
        told = f"{short_repr(wrong[0])} names no tenants" if wrong else "a key needs a tenant"
        raise BadKey(f"{told}; write acme for one, acme-* for all whose names begin so, * for all")
    if expires_at is not None and expires_at <= now:
        raise BadKey("a key that has expired already would be of no use")


def _matches(pattern: str, tenant: str) -> bool:
    return tenant.startswith(pattern[:-1]) if pattern.endswith(ALL) else tenant == pattern


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
