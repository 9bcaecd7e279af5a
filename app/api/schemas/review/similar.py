"""The answer of /predictions/{id}/similar."""

from typing import Annotated

from pydantic import Field

from app.api.schemas.names import ResponseModel
from app.api.schemas.review.reasons import InputResponse
from app.tenants.labels.similarity import ALIKE


class SimilarLabelResponse(ResponseModel):
    """A label that stands, of a similar input; `at` is in milliseconds since 1970."""

    similarity: Annotated[
        float, Field(gt=0, le=1, description="The share of features that both inputs have; rare ones weigh more.")
    ]
    label: int
    at: int
    version: int
    moderator: str | None
    prediction_id: str | None
    shared: Annotated[list[str], Field(description="Features that both have, the rarest first; at most 5.")]
    input: InputResponse | None


class SimilarResponse(ResponseModel):
    """Labels of similar inputs, the most similar first."""

    prediction_id: str
    tenant: str
    compared: Annotated[int, Field(description="The newest labels of the tenant, which were compared; at most 2,000.")]
    anomalies: Annotated[int, Field(description=f"Labels among them with a similarity of {ALIKE} or more: anomalies,")]
    normal: Annotated[int, Field(description="and normal ones.")]
    labels: list[SimilarLabelResponse]
