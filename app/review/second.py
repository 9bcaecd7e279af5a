"""Blind second reviews: a small share of labelled predictions is shown to another person, who does not see the label.

The answer is not learnt and replaces nothing: it only tells how far people agree. Which predictions are chosen follows
from their ids, so every service chooses the same, and nothing has to be written when a label is given.
"""

import hashlib
import secrets

import msgspec

from app.review.errors import LeaseLost
from app.review.people import Person, SecondOpinion
from app.review.queue import LEASE_SECONDS, Reviewer
from app.storage.review.opinions import Answer, Candidate, Labelled, Opinion, OpinionStore, Said
from app.tenants.labels.stored_labels import LabelFilter
from app.tenants.registry import Tenants
from app.tenants.tenant import Tenant

NEWEST_LABELS = 5000  # are searched for predictions to review
MOST_CANDIDATES = 200
DIGEST_BYTES = 8


class SecondLease(msgspec.Struct, frozen=True):
    """Predictions to judge, until when, and how many wait for this person."""

    until_milliseconds: int
    waiting: int
    prediction_ids: list[str]


class SecondReviews:
    """The second reviews of all tenants."""

    def __init__(self, store: OpinionStore, tenants: Tenants, share: float, lease_seconds: int = LEASE_SECONDS) -> None:
        self._store = store
        self._tenants = tenants
        self._share = share
        self._lease_seconds = lease_seconds

    async def lease(self, tenant: Tenant, reviewer: Reviewer, limit: int) -> SecondLease:
        """Lease predictions that somebody else has labelled; a limit of 0 only counts them."""
        candidates = await self._candidates(tenant, reviewer) if self._share else []
        if not candidates:
            return SecondLease(0, 0, [])
        leased = await self._store.lease(
            tenant.name,
            candidates,
            person=reviewer.digest,
            lease=secrets.token_hex(6),
            limit=limit,
            milliseconds=1000 * self._lease_seconds,
        )
        return SecondLease(leased.until_milliseconds, leased.waiting, leased.prediction_ids)

    async def answer(self, tenant: str, reviewer: Reviewer, prediction_id: str, action: Answer, said: Said) -> None:
        """Keep what a person says, or pass the prediction on; LeaseLost if this person does not hold it."""
        answered = await self._store.answer(tenant, prediction_id, action, person=reviewer.digest, said=said)
        if answered != "done":
            raise LeaseLost(prediction_id, answered)

    async def opinions(self, tenant: str) -> list[SecondOpinion]:
        """Return the second opinions that are kept."""
        found = map(_opinion, await self._store.read(tenant))
        return [each for each in found if each is not None]

    async def _candidates(self, tenant: Tenant, reviewer: Reviewer) -> list[Candidate]:
        """Return the chosen ones of the newest labels that stand, and that this person had no part in."""
        found: list[Candidate] = []
        own: set[str | None] = set()  # predictions that this person has labelled later
        read = 0
        async for label, retraction in await self._tenants.labels(tenant.name, LabelFilter()):
            read += 1
            if read > NEWEST_LABELS or len(found) == MOST_CANDIDATES:
                break
            person = Person.of(label.moderator, label.key_id)
            if label.prediction_id is None or person is None or not self._is_chosen(tenant, label.prediction_id):
                continue
            earlier = label.replaces.moderator if label.replaces else None
            if reviewer.name in {_name(person), f"moderator {earlier}"}:
                own.add(label.prediction_id)
            elif retraction is None:
                first = Labelled(label.version, label.label, person.moderator, person.key_id)
                found.append(Candidate(label.prediction_id, first))
        return [each for each in found if each.prediction_id not in own]

    def _is_chosen(self, tenant: Tenant, prediction_id: str) -> bool:
        name = f"{tenant.incarnation} {prediction_id}".encode()
        drawn = int.from_bytes(hashlib.blake2b(name, digest_size=DIGEST_BYTES).digest())
        return bool(drawn < self._share * 2 ** (8 * DIGEST_BYTES))


def _name(person: Person) -> str:
    """Return the name that the person has as a reviewer."""
    return f"moderator {person.moderator}" if person.moderator is not None else f"key {person.key_id}"


def _opinion(stored: Opinion) -> SecondOpinion | None:
    first = Person.of(stored.first.moderator, stored.first.key_id)
    second = Person.of(stored.second.moderator, stored.second.key_id)
    if first is None or second is None:
        return None
    return SecondOpinion(
        stored.prediction_id,
        stored.first.version,
        first,
        stored.first.label,
        second,
        stored.second.label,
        stored.at_milliseconds,
    )
