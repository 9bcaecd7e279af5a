"""Blind second opinions in Redis: who holds which prediction, and what was said. Deleted with the tenant.

Which predictions need a second opinion follows from the log, so there is no queue to keep: `lua/second_lease.lua` gets
the candidates, and leases those that nobody has judged or holds.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from app.storage.client import scripts
from app.storage.client.connection import Call, Connection
from app.storage.client.wire import Argument
from app.storage.redis_keys import keys_of

MOST_OPINIONS = 10_000  # of a tenant; the newest are kept
PASSED_MILLISECONDS = 30 * 24 * 3600 * 1000
Answer = Literal["opinion", "skip"]


class Labelled(msgspec.Struct, frozen=True, array_like=True):
    """The first label of a prediction: its version, the label, and who gave it."""

    version: int
    label: int
    moderator: str | None
    key_id: str | None


class Said(msgspec.Struct, frozen=True, array_like=True):
    """A second person's label."""

    label: int
    moderator: str | None
    key_id: str | None


class Opinion(msgspec.Struct, frozen=True):
    """A second opinion, and the label that it is about."""

    prediction_id: str
    at_milliseconds: int
    first: Labelled
    second: Said


class Candidate(msgspec.Struct, frozen=True):
    """A prediction that needs a second opinion."""

    prediction_id: str
    first: Labelled


class SecondLeases(msgspec.Struct, frozen=True):
    """Predictions that are leased until a time, and how many wait for this person, these included."""

    until_milliseconds: int
    waiting: int
    prediction_ids: list[str]


class OpinionStore:
    """The second opinions of all tenants."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def lease(  # noqa: PLR0913 - what a lease is
        self, tenant: str, candidates: Sequence[Candidate], *, person: str, lease: str, limit: int, milliseconds: int
    ) -> SecondLeases:
        """Lease up to `limit` candidates; 0 only counts them."""
        arguments: list[Argument] = [person, lease, milliseconds, limit]
        for each in candidates:
            arguments += (each.prediction_id, msgspec.json.encode(each.first))
        ends, waiting, *leased = await self._connection.run(Call(scripts.SECOND_LEASE, _keys(tenant), arguments))
        return SecondLeases(int(ends), waiting, [each.decode() for each in leased])

    async def answer(self, tenant: str, prediction_id: str, action: Answer, *, person: str, said: Said) -> str:
        """Keep an opinion, or pass the prediction on; return `done`, or why not: `gone`, `leased` or `waiting`."""
        arguments: list[Argument] = [person, prediction_id, action, msgspec.json.encode(said)]
        arguments += (MOST_OPINIONS, PASSED_MILLISECONDS)
        answered: bytes = await self._connection.run(Call(scripts.SECOND_ANSWER, _keys(tenant), arguments))
        return answered.decode()

    async def read(self, tenant: str) -> list[Opinion]:
        """Return all opinions that are kept; those that cannot be read are left out."""
        found = await self._connection.ask("HGETALL", keys_of(tenant).opinions)
        pairs = found.items() if isinstance(found, dict) else zip(found[::2], found[1::2], strict=True)
        opinions = [_opinion(prediction_id, stored) for prediction_id, stored in pairs]
        return [each for each in opinions if each is not None]


def _keys(tenant: str) -> list[str]:
    keys = keys_of(tenant)
    return [keys.meta, *keys.second]


def _opinion(prediction_id: bytes, stored: bytes) -> Opinion | None:
    try:
        at, first, second = stored.split(b"\n")
        return Opinion(
            prediction_id.decode(),
            int(at),
            msgspec.json.decode(first, type=Labelled),
            msgspec.json.decode(second, type=Said),
        )
    except (ValueError, msgspec.MsgspecError):
        return None
