"""A second label for a prediction takes the place of the first: one append takes that back, and learns the new one."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from app.learning.errors import SluiceError
from app.learning.events import Outcome, ReplacedLabel
from app.storage.event_log import CHANGED, Appended, Draft, Duplicate, Entry, EventLog, Group, Labelled
from app.telemetry.counters import Telemetry
from app.tenants.errors import LogReplaced, RetractionTooOld
from app.tenants.labels.retraction import Asked, Retractions, draft_of
from app.tenants.labels.stored_labels import LabelFilter, StoredLabel, label_at, read_labels
from app.tenants.log_follower import Replayer
from app.tenants.log_writer import OWN, count_label
from app.tenants.tenant import Feedback, Retry, Tenant

ATTEMPTS = 5
REASON = "replaced by a second label for the prediction"

Result = Outcome | Duplicate | SluiceError


class Change(msgspec.Struct, frozen=True):
    """A second label, and the one that it takes back: None if that was taken back before."""

    place: int
    feedback: Feedback
    draft: Draft
    label: StoredLabel | None


@dataclass(frozen=True, slots=True)
class Replacements:
    """Learns second labels, those of one request together, because each append loads the tenant again.

    One request at a time loads a tenant again, but none waits for a retraction, which may take long.
    """

    log: EventLog
    replayer: Replayer
    retractions: Retractions
    telemetry: Telemetry
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def replace(self, tenant: Tenant, second: Sequence[Retry]) -> list[Result]:
        """Learn labels whose predictions have one; return outcomes, earlier uses of a feedback_id, and errors."""
        results: dict[int, Result] = {}
        async with self.turn:
            for places in _rounds(second):
                results |= await self._replace(tenant, {place: second[place] for place in places})
        return [results[place] for place in range(len(second))]

    async def _replace(self, tenant: Tenant, second: dict[int, Retry]) -> dict[int, Result]:
        """Learn at most one label for each prediction, and for each feedback_id."""
        results: dict[int, Result] = {}
        for _ in range(ATTEMPTS):
            changes = []
            first = min((retry.earlier.version for retry in second.values()), default=0)
            position = (await self.log.meta(tenant.name)).position
            if position is None:
                raise LogReplaced(tenant.name)
            retracted = await self.replayer.recovery.retracted_behind(tenant.name, first) if second else frozenset()
            for place, retry in second.items():
                try:
                    changes.append(await self._change(tenant, place, retry, retracted))
                except SluiceError as error:
                    results[place] = error
            if (learnt := await self._append(tenant, changes, position.version)) is not None:
                return results | learnt
            # Others have labelled these predictions meanwhile.
            second = {change.place: second[change.place] for change in changes}
            assert tenant.writer is not None
            answers = await tenant.writer.append(tenant, [retry.draft for retry in second.values()])
            found = dict(zip(second, answers, strict=True))
            results |= {place: answer for place, answer in found.items() if not isinstance(answer, Labelled)}
            second = {
                place: msgspec.structs.replace(second[place], earlier=answer)
                for place, answer in found.items()
                if isinstance(answer, Labelled)
            }
        return results | dict.fromkeys(second, LogReplaced(tenant.name))

    async def _change(self, tenant: Tenant, place: int, retry: Retry, retracted: frozenset[bytes]) -> Change:
        """Find the label to replace, and make the event that does it."""
        version, feedback = retry.earlier.version, retry.feedback
        label = await label_at(self.log, tenant.name, version)
        if label is None:
            raise _too_old(str(feedback.prediction_id), version)
        if label.prediction_id != feedback.prediction_id:
            label = None
        elif label.hash in retracted:
            label = await self._restored(tenant.name, label)
        if label is not None:
            await self.retractions.check_reach(tenant.name, label.version)
            earlier = ReplacedLabel(label.version, label.label, label.feedback_id, label.moderator)
            feedback = msgspec.structs.replace(feedback, replaces=earlier)
        draft = msgspec.structs.replace(tenant.draft(feedback, time.time_ns() // 1_000_000), replaces=version)
        return Change(place, feedback, draft, label)

    async def _restored(self, name: str, last: StoredLabel) -> StoredLabel | None:
        """Return the label of a prediction that stands again since the last one was taken back, if there is one."""
        if last.replaces is None:
            return None
        found = await read_labels(self.log, name, LabelFilter(prediction_id=last.prediction_id))
        standing = [label for label in found.labels if label.hash not in found.retracted]
        if not standing and found.first_version > last.replaces.version:
            raise _too_old(str(last.prediction_id), last.replaces.version)
        return standing[-1] if standing else None

    async def _append(self, tenant: Tenant, changes: Sequence[Change], seen: int) -> dict[int, Result] | None:
        """Append and learn; None if one of the predictions has another label by now."""
        if not changes:
            return {}
        replaced = [change.label for change in changes if change.label is not None]
        retraction = [draft_of(replaced, _asked(changes), seen, is_replacement=True)] if replaced else []
        drafts = [*retraction, *(change.draft for change in changes)]
        (answer,) = await self.log.append([Group(tenant.name, tenant.position, drafts)])
        if isinstance(answer, Exception):
            raise answer
        if not isinstance(answer, Appended):
            if answer.why == CHANGED:
                return None
            raise LogReplaced(tenant.name)
        self.telemetry.labels_retracted += len(replaced)
        await self.replayer.catch_up(tenant, answer.after.version)
        entries = answer.results[len(retraction) :]
        return {change.place: _result(tenant, entry) for change, entry in zip(changes, entries, strict=True)}


def _too_old(prediction_id: str, version: int) -> RetractionTooOld:
    return RetractionTooOld(
        f"prediction {prediction_id!r} has a label, version {version:,}, which the log does not have any more, so it "
        "cannot be replaced"
    )


def _rounds(second: Sequence[Retry]) -> list[list[int]]:
    """Split labels so that no round has two for one prediction, or with one feedback_id; return their places."""
    rounds: list[list[int]] = []
    next_round = defaultdict[tuple[str, str | None], int](int)
    for place, retry in enumerate(second):
        names = [("prediction", retry.feedback.prediction_id), ("feedback", retry.feedback_id)]
        number = max(next_round[name] for name in names)
        next_round |= dict.fromkeys(names, number + 1)
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(place)
    return rounds


def _asked(changes: Sequence[Change]) -> Asked:
    """Say who replaces labels: their moderator, if it is one, and the key."""
    moderators = {change.feedback.moderator for change in changes}
    first = changes[0].feedback
    return Asked(REASON, moderators.pop() if len(moderators) == 1 else None, first.key_id, first.request_id)


def _result(tenant: Tenant, entry: Entry | Duplicate | Labelled) -> Outcome | Duplicate:
    outcome = tenant.outcome_of(entry.version)
    if outcome is None or not isinstance(entry, Entry):  # so many labels came that it was not remembered
        return Duplicate(entry.version, OWN)
    count_label(tenant, entry.payload, outcome)
    return outcome
