"""Bodies and answers of /predict, /predict/batch and /features."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SkipValidation

from app.api.schemas.inputs import InputItem
from app.api.schemas.labels import LabelResponse
from app.api.schemas.names import Number, RequestModel, ResponseModel, TenantName, optional
from app.api.schemas.problems import ItemErrorResponse
from app.api.schemas.review.reasons import InputResponse, ReasonResponse

MAX_EXPLAINED = 100
EXPLAIN_DESCRIPTION = "How many features to name that moved the score most."
KEEP_DESCRIPTION = "Whether to keep the input, so that feedback can refer to it by prediction_id."


def _check_integer(value: object) -> object:
    if type(value) is not int:  # else 1.0 and true would be labels
        raise ValueError("it must be 1 or -1")
    return value


Label = Annotated[Literal[1, -1], BeforeValidator(_check_integer)]
Cut = Annotated[list[str], Field(description="What of the input was not read; absent if all was read.")]
NO_CUT: Any = Field(default_factory=list)
CHOSEN_DESCRIPTION = "The probability with which the review policy chose the prediction, if it did."
ChosenWith = Annotated[float, Field(gt=0, le=1)]
REASON_DESCRIPTION = (
    "Why a person should look: the verdict is `uncertain`, `flagged` as an anomaly, part of a `random` sample, or the "
    "model has no opinion or is no better than chance (`unknown`)."
)
ReviewReason = Literal["uncertain", "flagged", "random", "unknown"]


class PredictItem(InputItem):
    """An item of a batch: an input, and what to do with it."""

    explain: Annotated[int, Field(ge=0, le=MAX_EXPLAINED, description=EXPLAIN_DESCRIPTION)] = 0
    keep: Annotated[bool, Field(description=KEEP_DESCRIPTION)] = True


class PredictRequest(PredictItem):
    """An input to score: `features`, one of `url`, `email` and `text`, or both."""

    tenant: TenantName


class PredictBatchRequest(RequestModel):
    """Inputs of one tenant."""

    tenant: TenantName
    # Not validated here: a bad item gets an error in its place, and the others are scored.
    items: Annotated[list[SkipValidation[PredictItem]], Field(description="A bad item gets an error in its place.")]


class ContributionResponse(ResponseModel):
    """What a feature adds to the score."""

    feature: str
    contribution: Number


class PredictResponse(ResponseModel):
    """A verdict. `version` is the number of log events that the model has applied."""

    prediction_id: Annotated[str | None, Field(description="null if the input is not kept.")]
    tenant: str
    label: Annotated[Label, Field(description="1: anomaly, -1: normal.")]
    score: Annotated[Number, Field(description="The margin; null if it is not finite.")]
    version: int
    algorithm: str
    needs_review: Annotated[bool, Field(description="Whether a person should look.")]
    probability: Annotated[
        float | None, Field(ge=0, le=1, description="Of an anomaly; null until there are enough labels.")
    ]
    explanation: Annotated[list[ContributionResponse], Field(default_factory=list)]
    cut: Cut = NO_CUT
    review_reason: ReviewReason = optional(REASON_DESCRIPTION)


class ExplainedResponse(ResponseModel):
    """A verdict and its reasons, the largest first, by the model of a version."""

    label: Label
    score: Number
    probability: float | None
    version: int
    explanation: list[ContributionResponse]
    reasons: Annotated[list[ReasonResponse], Field(description="The same for people, the largest first.")]


class PredictionResponse(ResponseModel):
    """A prediction: as it was answered (`at` is in milliseconds since 1970), why then, why now, and its labels."""

    prediction_id: str
    tenant: str
    label: Label | None
    score: Number
    version: Annotated[int | None, Field(description="Of the model that answered; null if the input is not kept.")]
    at: int | None
    chosen_with: Annotated[ChosenWith | None, Field(description=CHOSEN_DESCRIPTION)]
    review_reason: Annotated[ReviewReason | None, Field(description="Why the review policy chose it.")]
    features: Annotated[
        dict[str, float] | None, Field(description="What was scored: kept for a while, then only with a label.")
    ]
    input: InputResponse | None
    then: Annotated[ExplainedResponse | None, Field(description="Why it was answered so.")]
    then_unknown: Annotated[str | None, Field(description="Why `then` is null.")]
    now: Annotated[ExplainedResponse | None, Field(description="What the model would answer now.")]
    labels: Annotated[list[LabelResponse], Field(description="The newest first; at most 100.")]


class PredictBatchResponse(ResponseModel):
    """A result for every item, in order."""

    results: list[PredictResponse | ItemErrorResponse]


class FeaturesResponse(ResponseModel):
    """The features of an input, in order."""

    kind: Literal["features", "url", "email", "text"]
    featurizer: Annotated[int, Field(description="The version of the featurizers that was used.")]
    features: dict[str, float]
    cut: Cut = NO_CUT
