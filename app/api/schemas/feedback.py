"""Bodies and answers of /feedback and /feedback/batch."""

from typing import Annotated

from pydantic import Field, SkipValidation

from app.api.schemas.inputs import InputItem
from app.api.schemas.labels import EarlierLabelResponse
from app.api.schemas.names import Id, Number, RequestModel, ResponseModel, TenantName, optional
from app.api.schemas.predictions import CHOSEN_DESCRIPTION, NO_CUT, ChosenWith, Cut, Label
from app.api.schemas.problems import ItemErrorResponse

LABEL_DESCRIPTION = "1: anomaly, -1: normal."
FEEDBACK_ID_DESCRIPTION = "Makes a retry harmless: a label with the same id is learnt once."
MODERATOR_DESCRIPTION = (
    "The person who gave the label. By default the name that the key carries; another name is then refused."
)


class FeedbackItem(InputItem):
    """An item of a batch: a label, and its input or the id of its prediction."""

    label: Annotated[Label, Field(description=LABEL_DESCRIPTION)]
    prediction_id: Id = optional("The prediction to learn from, in place of its input.")
    feedback_id: Annotated[Id | None, Field(description=FEEDBACK_ID_DESCRIPTION)] = None
    moderator: Annotated[Id | None, Field(description=MODERATOR_DESCRIPTION)] = None


class FeedbackRequest(FeedbackItem):
    """A label: for a `prediction_id`, or for `features`, one of `url`, `email` and `text`, or both."""

    tenant: TenantName


class FeedbackBatchRequest(RequestModel):
    """Labels of one tenant."""

    tenant: TenantName
    # Not validated here: a bad item gets an error in its place, and the others are learnt.
    items: Annotated[list[SkipValidation[FeedbackItem]], Field(description="A bad item gets an error in its place.")]


class ServedResponse(ResponseModel):
    """The verdict that /predict had answered."""

    label: Label
    score: Number


class FeedbackResponse(ResponseModel):
    """What a label did. `predicted`, `score` and `loss` are those of just before learning."""

    tenant: str
    feedback_id: str
    version: int
    label: Label
    predicted: Label | None
    score: Number
    loss: Number
    updated: Annotated[bool, Field(description="Whether a weight changed.")]
    duplicate: Annotated[bool, Field(description="Whether the label had been learnt before.")]
    reason: Annotated[str | None, Field(description="Why no weight changed.")]
    served: ServedResponse | None
    cut: Cut = NO_CUT
    replaced: EarlierLabelResponse = optional("The first label of the prediction, if this one replaced it.")
    chosen_with: ChosenWith = optional(CHOSEN_DESCRIPTION)


class FeedbackBatchResponse(ResponseModel):
    """A result for every item, in order."""

    results: list[FeedbackResponse | ItemErrorResponse]
