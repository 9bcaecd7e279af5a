"""The stored metadata of a tenant: the position of its log, and its earlier incarnations."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from app.storage.client.wire import Argument
from app.storage.errors import StoreDamaged
from app.storage.redis_keys import keys_of


class Position(msgspec.Struct, frozen=True):
    """The position of a log, or of a state that was made from it."""

    incarnation: str
    version: int
    chain: str


@dataclass(frozen=True, slots=True)
class Meta:
    """The stored metadata of a tenant: its position, None if there is no tenant, and its earlier incarnations."""

    position: Position | None
    earlier: str  # separated by spaces; the oldest one may be cut off


def meta_command(tenant: str) -> tuple[Argument, ...]:
    """Return the command that reads the metadata of a tenant."""
    return ("HMGET", keys_of(tenant).meta, "born", "version", "chain", "was")


def parse_meta(answer: Sequence[bytes | None] | StoreDamaged) -> Meta | StoreDamaged:
    """Parse the answer to `meta_command`."""
    if isinstance(answer, StoreDamaged):
        return answer
    incarnation, version, chain, was = answer
    earlier = was.decode("utf-8", "replace") if was else ""
    if incarnation is None or version is None or chain is None:
        return Meta(None, earlier)
    if not version.isdigit():
        return StoreDamaged(f"the version of its log is {version!r}")
    # A changed byte must not be an error here: the position then differs from every other one.
    return Meta(
        Position(incarnation.decode("utf-8", "replace"), int(version), chain.decode("utf-8", "replace")), earlier
    )
