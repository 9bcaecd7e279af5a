"""Bodies and answers of /tenants/{tenant}/second-reviews."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from app.api.schemas.names import Id, RequestModel, ResponseModel
from app.api.schemas.predictions import Label
from app.api.schemas.review.queue import MODERATOR_DESCRIPTION
from app.api.schemas.review.reasons import InputResponse

MAX_ITEMS = 20


class SecondReviewItemResponse(ResponseModel):
    """A prediction to judge: what was sent, and neither the verdict nor any label."""

    prediction_id: str
    at: Annotated[int, Field(description="When it was asked about, in milliseconds since 1970.")]
    features: dict[str, float]
    input: InputResponse | None
    review_reason: Literal["second"] = "second"
    lease_until: int


class SecondReviewsResponse(ResponseModel):
    """Predictions that wait for the second opinion of this person, and those that are leased now."""

    tenant: str
    waiting: Annotated[int, Field(description="For this person, the leased ones included.")]
    items: list[SecondReviewItemResponse]


class SecondReviewRequest(RequestModel):
    """What a second person says. It is not learnt, and replaces no label."""

    action: Annotated[
        Literal["opinion", "skip"], Field(description="`skip`: do not show it to this person again, but to others.")
    ]
    label: Annotated[Label | None, Field(description="1: anomaly, -1: normal. Only with `opinion`.")] = None
    moderator: Annotated[Id | None, Field(description=MODERATOR_DESCRIPTION)] = None

    @model_validator(mode="after")
    def _label_of_opinion(self) -> "SecondReviewRequest":
        if (self.action == "opinion") != (self.label is not None):
            raise ValueError("an opinion needs a label, and skip has none")
        return self


class SecondReviewDoneResponse(ResponseModel):
    """What was done."""

    tenant: str
    prediction_id: str
    action: str
