"""Answers of /tenants/{tenant}/moderators."""

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.names import ResponseModel
from app.review.agreement import MOST_LABELS, Agreement, Difference, Moderator, Pair, Person
from app.review.statistics import Kappa

Rate = float | None


class PersonResponse(ResponseModel):
    """Who labels: a moderator, or else the holder of a key."""

    moderator: str | None
    key_id: str | None


class KappaResponse(ResponseModel):
    """Agreement beyond chance, with its 95% interval; null with the reason if it is unknown."""

    pairs: Annotated[int, Field(description="Predictions that two people judged.")]
    agreement: Annotated[Rate, Field(description="Share of them with the same label.")]
    value: Annotated[float | None, Field(description="Cohen's kappa: 1 is perfect, 0 is what chance gives.")]
    low: float | None
    high: float | None
    reason: str | None


class OverallKappaResponse(ResponseModel):
    """All people together: by blind second opinions, which are fair, by corrections, which look for mistakes; by both.

    Who is first and who second differs, so both have one rate of anomalies (Fleiss' kappa of two ratings).
    """

    all: KappaResponse
    blind: KappaResponse
    corrections: KappaResponse


class ModeratorResponse(PersonResponse):
    """The labels of one person. `kappa` is with all others."""

    labels: int
    anomalies: Annotated[Rate, Field(description="Share of them.")]
    served: Annotated[int, Field(description="Labels that stand or were replaced, and whose verdict is known.")]
    served_agreement: Annotated[Rate, Field(description="Share of these that say the same as the verdict.")]
    replaced_by_others: int
    overturned_by_others: Annotated[int, Field(description="Those of them that got the opposite label.")]
    taken_back: Annotated[int, Field(description="By a request, not by a second label.")]
    kappa: KappaResponse

    @classmethod
    def of(cls, found: Moderator) -> "ModeratorResponse":
        """Return the figures of a person as the API shows them."""
        return cls(
            moderator=found.person.moderator,
            key_id=found.person.key_id,
            labels=found.labels,
            anomalies=found.anomalies / found.labels if found.labels else None,
            served=found.served,
            served_agreement=found.agreed / found.served if found.served else None,
            replaced_by_others=found.replaced,
            overturned_by_others=found.overturned,
            taken_back=found.retracted,
            kappa=_kappa(found.kappa),
        )


class PairResponse(ResponseModel):
    """Two people who judged the same predictions; `blind`: so many of them without knowing the first label."""

    first: PersonResponse
    second: PersonResponse
    blind: int
    kappa: KappaResponse

    @classmethod
    def of(cls, found: Pair) -> "PairResponse":
        """Return a pair as the API shows it."""
        return cls(
            first=_person(found.first), second=_person(found.second), blind=found.blind, kappa=_kappa(found.kappa)
        )


class DifferenceResponse(PersonResponse):
    """A person whose labels differ significantly from those of the others.

    `second`: disagrees more often in blind second reviews; `overturned`: others replace more of these labels by the
    opposite (both by Fisher's exact test); `verdicts`: contradicts verdicts more or less often (Mantel-Haenszel, for
    each verdict). Holm's method corrects for the number of comparisons.
    """

    kind: Literal["second", "overturned", "verdicts"]
    hits: int
    trials: int
    other_hits: int
    other_trials: int
    p_value: Annotated[float, Field(description="Corrected.")]
    comparisons: int
    detail: Annotated[str, Field(description="A sentence with the numbers.")]

    @classmethod
    def of(cls, found: Difference) -> "DifferenceResponse":
        """Return a difference as the API shows it."""
        return cls(
            moderator=found.person.moderator,
            key_id=found.person.key_id,
            kind=found.kind,
            hits=found.hits,
            trials=found.trials,
            other_hits=found.other_hits,
            other_trials=found.other_trials,
            p_value=found.p_value,
            comparisons=found.comparisons,
            detail=found.detail,
        )


class ModeratorsResponse(ResponseModel):
    """How far people agree. A label that a request has taken back counts as never given."""

    tenant: str
    labels: Annotated[int, Field(description=f"That were read: the newest {MOST_LABELS:,} at most.")]
    has_more: Annotated[bool, Field(description="Whether there are older labels that fit.")]
    unnamed: Annotated[int, Field(description="Labels without a moderator and without a key.")]
    overall: OverallKappaResponse
    moderators: Annotated[list[ModeratorResponse], Field(description="Those with most labels first; at most 100.")]
    pairs: Annotated[list[PairResponse], Field(description="Those with most shared predictions first; at most 1000.")]
    differences: list[DifferenceResponse]
    differences_unknown: Annotated[str | None, Field(description="Why nobody can be compared.")]

    @classmethod
    def of(cls, tenant: str, found: Agreement, *, has_more: bool) -> "ModeratorsResponse":
        """Return what is known of a tenant's moderators, as the API shows it."""
        return cls(
            tenant=tenant,
            labels=found.labels,
            has_more=has_more,
            unnamed=found.unnamed,
            overall=OverallKappaResponse(
                all=_kappa(found.overall), blind=_kappa(found.blind), corrections=_kappa(found.corrections)
            ),
            moderators=[ModeratorResponse.of(each) for each in found.moderators],
            pairs=[PairResponse.of(each) for each in found.pairs],
            differences=[DifferenceResponse.of(each) for each in found.differences],
            differences_unknown=found.no_differences,
        )


def _kappa(found: Kappa) -> KappaResponse:
    return KappaResponse.model_validate(found)


def _person(found: Person) -> PersonResponse:
    return PersonResponse.model_validate(found)
