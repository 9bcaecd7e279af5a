"""Outcomes of feedback, kept for its retries: written after the answer, and read together with the feedback_id."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec

from app.learning.events import Outcome, ReplacedLabel
from app.storage.client import scripts
from app.storage.client.connection import Call, Connection
from app.storage.client.wire import Argument
from app.storage.redis_keys import keys_of

VERSIONS_PER_BLOCK = 128  # append.lua and outcomes.lua know it too
WRITTEN_AT_ONCE = 256  # by one call, during which the store does nothing else


class OutcomeRecord(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """An outcome as it is stored. Floats are exact."""

    updated: bool
    score: float | None = None
    predicted: int | None = None
    loss: float | None = None
    refused: str | None = None
    replaced: ReplacedLabel | None = None


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(OutcomeRecord)


class GivenOutcome(msgspec.Struct, frozen=True, gc=False):
    """The outcome of feedback with a feedback_id."""

    tenant: str
    incarnation: str
    feedback_id: str
    fingerprint: str
    outcome: Outcome


def decode_outcome(version: int, data: bytes | None) -> Outcome | None:
    """Return a stored outcome; None if there is none, or it cannot be read."""
    if data is None:
        return None
    try:
        found = _decoder.decode(data)
    except msgspec.MsgspecError:
        return None
    return Outcome(
        version, found.updated, found.score, found.predicted, found.loss, refused=found.refused, replaced=found.replaced
    )


@dataclass(frozen=True, slots=True)
class OutcomeStore:
    """The outcomes of all tenants, for as long as their feedback_ids are known."""

    connection: Connection
    ttl_seconds: int

    async def write(self, given: Sequence[GivenOutcome]) -> None:
        """Write outcomes in one round trip. Those that fail are dropped: a replay of the log finds them again."""
        groups: dict[tuple[str, str], list[GivenOutcome]] = {}
        for each in given:
            groups.setdefault((each.tenant, each.incarnation), []).append(each)
        calls = [
            self._call(some[start : start + WRITTEN_AT_ONCE])
            for some in groups.values()
            for start in range(0, len(some), WRITTEN_AT_ONCE)
        ]
        await self.connection.run_all(calls)

    def _call(self, given: Sequence[GivenOutcome]) -> Call:
        keys, incarnation = keys_of(given[0].tenant), given[0].incarnation
        arguments: list[Argument] = [keys.outcomes(incarnation, ""), 1000 * self.ttl_seconds]
        for each in given:
            outcome = each.outcome
            record = OutcomeRecord(
                outcome.updated, outcome.score, outcome.predicted, outcome.loss, outcome.refused, outcome.replaced
            )
            arguments += (outcome.version, each.fingerprint, _encode(record))
        return Call(scripts.OUTCOMES, [keys.feedback(incarnation, each.feedback_id) for each in given], arguments)

    async def read(self, tenant: str, incarnation: str, versions: Collection[int]) -> dict[int, Outcome]:
        """Return the outcomes that are kept of these versions."""
        keys = keys_of(tenant)
        commands = [
            ("HGET", keys.outcomes(incarnation, version // VERSIONS_PER_BLOCK), version % VERSIONS_PER_BLOCK)
            for version in versions
        ]
        answers = await self.connection.ask_all(commands)
        found = ((version, decode_outcome(version, data)) for version, data in zip(versions, answers, strict=True))
        return {version: outcome for version, outcome in found if outcome is not None}
