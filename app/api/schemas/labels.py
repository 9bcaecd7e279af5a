"""Answers of /tenants/{tenant}/labels."""

from typing import Annotated

from pydantic import Field

from app.api.schemas.names import Number, ResponseModel
from app.tenants.labels.stored_labels import Retraction, StoredLabel


class RetractionOfLabel(ResponseModel):
    """Who took a label back, when (milliseconds since 1970) and why; `version` is that of the retraction."""

    version: int
    at: int
    reason: str | None
    moderator: str | None
    key_id: str | None
    is_replacement: Annotated[bool, Field(description="A second label for the prediction did it, and no request.")]


class EarlierLabelResponse(ResponseModel):
    """The first label of a prediction, which a second one replaced."""

    version: int
    label: int
    feedback_id: str | None
    moderator: str | None


class LabelResponse(ResponseModel):
    """A label: who gave it when (milliseconds since 1970), and what had been answered for the prediction."""

    version: int
    at: int
    label: int
    feedback_id: str | None
    prediction_id: str | None
    moderator: str | None
    key_id: str | None
    request_id: str | None
    served_label: int | None
    served_score: Number
    served_at: int | None
    chosen_with: Annotated[
        float | None, Field(gt=0, le=1, description="The probability with which the review policy chose it, if it did.")
    ]
    replaced: Annotated[
        EarlierLabelResponse | None, Field(description="The earlier label of the prediction, which this one replaced.")
    ]
    retracted: Annotated[RetractionOfLabel | None, Field(description="How it was taken back; null: it stands.")]

    @classmethod
    def of(cls, label: StoredLabel, retraction: Retraction | None = None) -> "LabelResponse":
        """Return a label as the API shows it."""
        taken_back = None
        if retraction is not None:
            taken_back = RetractionOfLabel(
                version=retraction.version,
                at=retraction.at_milliseconds,
                reason=retraction.reason,
                moderator=retraction.moderator,
                key_id=retraction.key_id,
                is_replacement=retraction.is_replacement,
            )
        return cls(
            version=label.version,
            at=label.at_milliseconds,
            label=label.label,
            feedback_id=label.feedback_id,
            prediction_id=label.prediction_id,
            moderator=label.moderator,
            key_id=label.key_id,
            request_id=label.request_id,
            served_label=label.served_label,
            served_score=label.served_score,
            served_at=label.served_at_milliseconds,
            chosen_with=label.chosen_with,
            replaced=EarlierLabelResponse.model_validate(label.replaces) if label.replaces else None,
            retracted=taken_back,
        )


class ListedLabelResponse(LabelResponse):
    """A label of a page, and how what was labelled begins."""

    excerpt: Annotated[
        str | None,
        Field(description="The beginning of the URL, text or subject; null if not asked for, or not kept."),
    ] = None


class LabelListResponse(ResponseModel):
    """A page of labels, the newest first. `next` is the `before` of the next page."""

    labels: list[ListedLabelResponse]
    next: int | None
