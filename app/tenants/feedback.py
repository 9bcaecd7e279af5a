"""Feedback that was sent before: a retry gets its first answer, another use of the same id a conflict.

The first answer is in memory for a while, and in the store for as long as the feedback_id is known. Each worker writes
the outcomes of its own appends, after the answer. Where that did not happen, as after a crash, one replay of the log
finds the outcome of the retry, and keeps those of all labels that it passes.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Protocol

from app.learning.errors import SluiceError
from app.learning.events import Outcome, Served
from app.storage.errors import StoreUnavailable
from app.storage.event_codec import FeedbackRecord, decode_record, fingerprint_of, served_by
from app.storage.event_log import Duplicate, Entry, Labelled
from app.storage.outcomes import GivenOutcome, OutcomeStore
from app.telemetry.counters import Telemetry
from app.tenants.errors import Abandoned, FeedbackConflict, FeedbackForgotten, LogReplaced, TenantDamaged
from app.tenants.labels.replacement import Replacements, Result
from app.tenants.log_writer import OWN, count_label
from app.tenants.recovery import Recovery
from app.tenants.tenant import FeedbackResult, Retry, Tenant

logger = logging.getLogger("sluice.tenants")

WRITE_SECONDS = 0.05  # outcomes gather for so long
OTHERS_WRITE_SECONDS = 0.15
MOST_WAITING = 50_000  # outcomes; beyond these, they are dropped
WRITTEN_TOGETHER = 2048


class Caller(Protocol):
    """Who waits for an answer."""

    is_client_gone: bool


class FeedbackHistory:
    """The outcomes of feedback, in memory, in the store or in the log."""

    def __init__(
        self, recovery: Recovery, replacements: Replacements, outcomes: OutcomeStore, telemetry: Telemetry
    ) -> None:
        self._recovery = recovery
        self._replacements = replacements
        self._outcomes = outcomes
        self._telemetry = telemetry
        self._waiting: list[GivenOutcome] = []
        self._wake = asyncio.Event()
        self._replaying = asyncio.Lock()  # one replay at a time: others may need the same one

    def keep(self, tenant: Tenant, feedback_id: str, fingerprint: str, outcome: Outcome) -> None:
        """Keep the outcome of an append of this worker; it is written in a moment."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(GivenOutcome(tenant.name, tenant.incarnation, feedback_id, fingerprint, outcome))
            self._wake.set()

    async def run(self) -> None:
        """Write outcomes until cancelled."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(WRITE_SECONDS)
            try:
                await self.write()
            except Exception:
                logger.exception("writing outcomes failed")

    async def write(self) -> None:
        """Write the outcomes that wait. While the store is away they are dropped."""
        self._wake.clear()
        waiting, self._waiting = self._waiting, []
        with suppress(StoreUnavailable):
            for start in range(0, len(waiting), WRITTEN_TOGETHER):
                await self._outcomes.write(waiting[start : start + WRITTEN_TOGETHER])

    async def repeated(
        self, tenant: Tenant, retries: Sequence[Retry], caller: Caller | None
    ) -> list[FeedbackResult | SluiceError]:
        """Return the first answers to feedback whose ids were used before; learn second labels of predictions."""
        second = [retry for retry in retries if isinstance(retry.earlier, Labelled)]
        replaced = iter(await self._replacements.replace(tenant, second) if second else ())
        found: list[Result] = [
            next(replaced) if isinstance(retry.earlier, Labelled) else retry.earlier for retry in retries
        ]
        valid = [
            each
            for retry, each in zip(retries, found, strict=True)
            if isinstance(each, Duplicate) and each.fingerprint in {OWN, retry.draft.fingerprint}
        ]
        outcomes = await self._outcomes_of(tenant, valid, caller) if valid else {}
        return [self._answer(tenant, retry, each, outcomes) for retry, each in zip(retries, found, strict=True)]

    def _answer(
        self, tenant: Tenant, retry: Retry, found: Result, outcomes: dict[int, Outcome]
    ) -> FeedbackResult | SluiceError:
        if isinstance(found, SluiceError):
            return found
        if isinstance(found, Duplicate):
            return _repeated(tenant, retry, found, outcomes.get(found.version))
        if retry.feedback.feedback_id is not None:
            self.keep(tenant, retry.feedback_id, retry.draft.fingerprint, found)
        return FeedbackResult(retry.feedback_id, found, duplicate=False)

    async def earlier_answer(
        self, tenant: Tenant, feedback_id: str, label: int, caller: Caller | None
    ) -> tuple[FeedbackResult, Served | None] | None:
        """Return the answer to earlier feedback with this id, even if its input is no longer kept."""
        log = self._recovery.log
        earlier = await log.duplicate(tenant.name, tenant.incarnation, feedback_id)
        if earlier is None:
            return None
        if not earlier.fingerprint.startswith(f"{label}:"):
            raise FeedbackConflict(feedback_id)
        kept = await self._outcomes.read(tenant.name, tenant.incarnation, [earlier.version])
        earlier = Duplicate(earlier.version, earlier.fingerprint, kept.get(earlier.version))
        outcome = (await self._outcomes_of(tenant, [earlier], caller)).get(earlier.version)
        if outcome is None:
            raise FeedbackForgotten(feedback_id, earlier.version)
        await log.confirm(tenant.name)  # the first attempt may not have been acknowledged
        entries = await log.read(tenant.name, earlier.version - 1, 1)
        served = served_by(decode_record(entries[0].payload)) if entries else None
        return FeedbackResult(feedback_id, outcome, duplicate=True), served

    async def _outcomes_of(
        self, tenant: Tenant, earlier: Sequence[Duplicate], caller: Caller | None
    ) -> dict[int, Outcome]:
        """Return the outcomes of earlier events by version, as far as they can be found."""
        found = {each.version: tenant.outcome_of(each.version) or each.outcome for each in earlier}
        known = {version: outcome for version, outcome in found.items() if outcome is not None}
        missing = found.keys() - known.keys()
        if missing:
            await asyncio.sleep(OTHERS_WRITE_SECONDS)  # another worker may be about to write it
            async with self._replaying:
                kept = await self._outcomes.read(tenant.name, tenant.incarnation, missing)
                known |= kept
                if missing := missing - kept.keys():
                    known |= await self._replay(tenant, missing, caller)
        return known

    async def _replay(self, tenant: Tenant, versions: Collection[int], caller: Caller | None) -> dict[int, Outcome]:
        """Replay the log on a copy; keep the outcomes of all labels with ids on the way.

        One replay finds all of them, except that those from before a retraction need another one.
        """
        name, incarnation, missing = tenant.name, tenant.incarnation, set(versions)
        found: dict[int, Outcome] = {}
        try:
            while missing:
                self._telemetry.outcome_replays += 1
                last = max(missing)
                async for block in self._recovery.replay(name, incarnation, min(missing), last):
                    if caller is not None and caller.is_client_gone:
                        raise Abandoned
                    found |= {entry.version: outcome for entry, outcome in block if entry.version in missing}
                    passed = [_given(tenant, entry, outcome) for entry, outcome in block]
                    with suppress(StoreUnavailable):
                        await self._outcomes.write([each for each in passed if each is not None])
                missing -= found.keys() | {last}
        except (LogReplaced, TenantDamaged, ValueError):  # the log does not reach back so far
            pass
        for version, outcome in found.items():
            tenant.remember(version, outcome)
        return found


def _given(tenant: Tenant, entry: Entry, outcome: Outcome) -> GivenOutcome | None:
    """Return the outcome of an entry if it has a feedback_id."""
    record = decode_record(entry.payload)
    if not isinstance(record, FeedbackRecord) or record.feedback_id is None:
        return None
    return GivenOutcome(tenant.name, tenant.incarnation, record.feedback_id, fingerprint_of(record), outcome)


def _repeated(
    tenant: Tenant, retry: Retry, earlier: Duplicate, outcome: Outcome | None
) -> FeedbackResult | SluiceError:
    draft = retry.draft
    if earlier.fingerprint not in {OWN, draft.fingerprint}:
        return FeedbackConflict(retry.feedback_id)
    if outcome is None:
        return FeedbackForgotten(retry.feedback_id, earlier.version)
    if earlier.fingerprint == OWN:
        count_label(tenant, draft.payload, outcome)
    return FeedbackResult(retry.feedback_id, outcome, duplicate=earlier.fingerprint != OWN)
