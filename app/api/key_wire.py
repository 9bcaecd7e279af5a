"""What requests about keys, and their answers, look like."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct


class KeyIn(Struct, frozen=True, forbid_unknown_fields=True):
    """A key that somebody wants to have."""

    roles: list[str]
    tenants: list[str]
    name: str = ""
    expires_in_seconds: Annotated[int, Meta(ge=1, le=315_360_000)] | None = None


class RotationIn(Struct, frozen=True, forbid_unknown_fields=True):
    """For how long the old key is good beside the new one."""

    overlap_seconds: Annotated[int, Meta(ge=0, le=31_536_000)] = 86_400


class KeyOut(Struct, frozen=True):
    """A key without its secret; times are milliseconds since 1970."""

    id: str
    name: str
    roles: list[str]
    tenants: list[str]
    created_at: int
    expires_at: int | None


class KeyMadeOut(Struct, frozen=True):
    """A new key. `secret` is what its owner sends; it is told this once."""

    secret: str
    key: KeyOut


class KeysOut(Struct, frozen=True):
    """All keys that the asker may see, the oldest first."""

    keys: list[KeyOut]


key_decoder = msgspec.json.Decoder(KeyIn)
rotation_decoder = msgspec.json.Decoder(RotationIn)
