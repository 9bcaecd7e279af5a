"""Bodies and answers of /tenants/{tenant}/retract."""

from typing import Annotated

from pydantic import Field, model_validator

from app.api.schemas.labels import LabelResponse
from app.api.schemas.names import ID_PATTERN, Id, RequestModel, ResponseModel, Time, milliseconds
from app.api.schemas.tenants import Rate
from app.tenants.labels.retraction import Accuracy, Retracted
from app.tenants.labels.stored_labels import LabelFilter

MAX_IDS = 10_000
SHOWN = 100
SHOWN_IDS = 5
BY_DESCRIPTION = "Who asks for it. By default the name that the key carries; another name is then refused."


class RetractionRequest(RequestModel):
    """Which labels are taken back: those with these ids, or all of a moderator or of a key within a time."""

    feedback_ids: Annotated[list[Id], Field(min_length=1, max_length=MAX_IDS)] | None = None
    moderator: Id | None = None
    key_id: Id | None = None
    since: Annotated[Time | None, Field(description="Only labels given at this time or later.")] = None
    until: Annotated[Time | None, Field(description="Only labels given before this time.")] = None
    by: Annotated[Id | None, Field(description=BY_DESCRIPTION)] = None
    reason: Annotated[str, Field(max_length=500, pattern=ID_PATTERN.replace("{1,200}", "{1,500}"))] | None = None
    dry_run: Annotated[bool, Field(description="Only say what would happen.")] = False

    @model_validator(mode="after")
    def _one_way(self) -> "RetractionRequest":
        ways = [self.feedback_ids, self.moderator, self.key_id]
        if sum(way is not None for way in ways) != 1:
            raise ValueError("give exactly one of feedback_ids, moderator and key_id")
        if self.feedback_ids is not None and (self.since is not None or self.until is not None):
            raise ValueError("since and until go with moderator or key_id, not with feedback_ids")
        return self

    @property
    def summary(self) -> str:
        """What is asked for, for the audit."""
        if self.feedback_ids is not None:
            shown = ", ".join(self.feedback_ids[:SHOWN_IDS])
            return f"feedback_ids {shown}" + (" ..." if len(self.feedback_ids) > SHOWN_IDS else "")
        whose = f"moderator {self.moderator}" if self.moderator is not None else f"key {self.key_id}"
        since, until = (f" {name} {at}" if at else "" for name, at in (("since", self.since), ("until", self.until)))
        return whose + since + until

    @property
    def wanted(self) -> LabelFilter:
        """Which labels are meant."""
        return LabelFilter(
            feedback_ids=frozenset(self.feedback_ids or ()),
            moderator=self.moderator,
            key_id=self.key_id,
            since=None if self.since is None else milliseconds(self.since),
            until=None if self.until is None else milliseconds(self.until),
        )


class AccuracyResponse(ResponseModel):
    """How good the verdicts on the last labels were, each from before its label was learnt."""

    examples: int
    balanced_accuracy: Rate
    sensitivity: Rate
    specificity: Rate


class RetractionResponse(ResponseModel):
    """What was taken back, or would be. `labels` has the first of them; `restored` stand again, which they replaced."""

    tenant: str
    version: int
    dry_run: bool
    retracted: int
    restored: int
    already_retracted: int
    labels: list[LabelResponse]
    before: AccuracyResponse
    after: AccuracyResponse

    @classmethod
    def of(cls, tenant: str, found: Retracted, *, dry_run: bool) -> "RetractionResponse":
        """Return a retraction as the API shows it."""
        return cls(
            tenant=tenant,
            version=found.version,
            dry_run=dry_run,
            retracted=len(found.labels),
            restored=found.restored,
            already_retracted=found.already,
            labels=[LabelResponse.of(label) for label in found.labels[:SHOWN]],
            before=_accuracy(found.before),
            after=_accuracy(found.after),
        )


def _accuracy(found: Accuracy) -> AccuracyResponse:
    return AccuracyResponse.model_validate(found)
