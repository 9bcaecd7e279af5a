"""Bodies and answers of /tenants/{tenant}/whatif."""

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.names import Number, RequestModel, ResponseModel, TenantName, Time, milliseconds
from app.api.schemas.settings import TenantSettings
from app.api.schemas.tenants import Rate
from app.learning.parts.confusion import Confusion
from app.tenants.labels.stored_labels import LabelFilter
from app.tenants.labels.what_if import Comparison, Flip, Side, WhatIf

MAX_FLIPS = 1000
MODEL_OF = "A tenant whose settings and model of now the other side begins with. `settings` change them."
START = "Where the replay begins. `log`: as early as the log and the snapshots allow."


class WhatIfRequest(RequestModel):
    """What the other side has in place of the tenant's own settings or model, and which labels are compared."""

    settings: Annotated[
        TenantSettings, Field(description="As PUT /tenants/{tenant} takes them: only those that differ.")
    ] = TenantSettings()
    model_of: Annotated[TenantName | None, Field(description=MODEL_OF)] = None
    since: Annotated[Time | None, Field(description="Compare only labels given at this time or later.")] = None
    until: Annotated[Time | None, Field(description="Compare only labels given before this time.")] = None
    flips: Annotated[int, Field(ge=0, le=MAX_FLIPS, description="How many flipped verdicts are listed.")] = 20
    start: Annotated[Literal["log"], Field(description=START)] = "log"

    @property
    def asked(self) -> WhatIf:
        """The same, without what belongs to HTTP."""
        return WhatIf(
            settings=self.settings.changes(),
            model_of=self.model_of,
            compared=LabelFilter(
                since=None if self.since is None else milliseconds(self.since),
                until=None if self.until is None else milliseconds(self.until),
            ),
            flips=self.flips,
        )


class SideResponse(ResponseModel):
    """The verdicts of a side against the labels, each from before its label was learnt; its settings at the end."""

    labels: int
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int
    balanced_accuracy: Rate
    sensitivity: Rate
    specificity: Rate
    error: Rate
    config: dict[str, int | float | str | bool | None]

    @classmethod
    def of(cls, side: Side) -> "SideResponse":
        """Return a side as the API shows it."""
        counts = side.counts
        return cls(
            labels=int(counts.examples),
            true_positives=int(counts.true_positives),
            false_positives=int(counts.false_positives),
            true_negatives=int(counts.true_negatives),
            false_negatives=int(counts.false_negatives),
            balanced_accuracy=counts.balanced_accuracy,
            sensitivity=counts.sensitivity,
            specificity=counts.specificity,
            error=counts.error,
            config=dict(side.config),
        )


class DifferenceResponse(ResponseModel):
    """The rates of the other side less the actual ones; null if one is not defined."""

    balanced_accuracy: Rate
    sensitivity: Rate
    specificity: Rate
    error: Rate

    @classmethod
    def of(cls, actual: Confusion, other: Confusion) -> "DifferenceResponse":
        """Return what the other side adds to each rate."""
        return cls(**{name: _difference(getattr(actual, name), getattr(other, name)) for name in cls.model_fields})


class SideVerdictResponse(ResponseModel):
    """The verdict of a side, and its score before the label was learnt."""

    label: Literal[1, -1]
    score: Number


class FlipResponse(ResponseModel):
    """A label for which the sides have different verdicts: who gave it, and when (milliseconds since 1970)."""

    version: int
    at: int
    label: int
    feedback_id: str | None
    prediction_id: str | None
    moderator: str | None
    actual: SideVerdictResponse
    other: SideVerdictResponse

    @classmethod
    def of(cls, flip: Flip) -> "FlipResponse":
        """Return a flipped verdict as the API shows it."""
        label = flip.label
        return cls(
            version=label.version,
            at=label.at_milliseconds,
            label=label.label,
            feedback_id=label.feedback_id,
            prediction_id=label.prediction_id,
            moderator=label.moderator,
            actual=SideVerdictResponse(label=flip.actual_verdict, score=flip.actual_score),  # type: ignore[arg-type]
            other=SideVerdictResponse(label=flip.other_verdict, score=flip.other_score),  # type: ignore[arg-type]
        )


class WhatIfResponse(ResponseModel):
    """What would have changed. `actual` is the tenant as it is, `other` the side with other settings or model."""

    tenant: str
    version: Annotated[int, Field(description="The last version that was replayed.")]
    start_version: Annotated[
        int, Field(description="The version with which both sides began; 0: the whole log is kept.")
    ]
    labels: Annotated[int, Field(description="How many labels were compared.")]
    refused: Annotated[int, Field(description="Labels that one of the sides cannot learn; they are not compared.")]
    actual: SideResponse
    other: SideResponse
    difference: DifferenceResponse
    flipped: Annotated[int, Field(description="Labels for which the sides have different verdicts.")]
    corrected: Annotated[int, Field(description="Those that were wrong, and would be right.")]
    spoilt: Annotated[int, Field(description="Those that were right, and would be wrong.")]
    flips: Annotated[list[FlipResponse], Field(description="The newest of them, the newest first.")]

    @classmethod
    def of(cls, tenant: str, found: Comparison) -> "WhatIfResponse":
        """Return a comparison as the API shows it."""
        return cls(
            tenant=tenant,
            version=found.version,
            start_version=found.start,
            labels=int(found.actual.counts.examples),
            refused=found.refused,
            actual=SideResponse.of(found.actual),
            other=SideResponse.of(found.other),
            difference=DifferenceResponse.of(found.actual.counts, found.other.counts),
            flipped=found.corrected + found.spoilt,
            corrected=found.corrected,
            spoilt=found.spoilt,
            flips=[FlipResponse.of(each) for each in found.flips],
        )


def _difference(actual: float | None, other: float | None) -> float | None:
    return None if actual is None or other is None else other - actual
