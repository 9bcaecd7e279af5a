"""Bodies and answers of /tenants/{tenant}/explain."""

from typing import Annotated

from pydantic import Field

from app.api.schemas.inputs import InputItem
from app.api.schemas.names import Number
from app.api.schemas.predictions import MAX_EXPLAINED, Cut, ExplainedResponse
from app.api.schemas.review.reasons import InputResponse


class ExplanationRequest(InputItem):
    """An input to try: `features`, one of `url`, `email` and `text`, or both."""

    explain: Annotated[int, Field(ge=0, le=MAX_EXPLAINED, description="How many reasons.")] = 10


class ExplanationResponse(ExplainedResponse):
    """The verdict of now, and its reasons. `threshold` is what the score is compared with."""

    tenant: str
    algorithm: str
    threshold: Number
    has_no_opinion: Annotated[bool, Field(description="Whether the model knows nothing of such inputs.")]
    features: Annotated[int, Field(description="How many features the input has.")]
    cut: Cut
    input: InputResponse | None
