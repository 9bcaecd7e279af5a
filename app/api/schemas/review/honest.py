"""Answers with honest figures: accuracy, curves and targets."""

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.names import Number, ResponseModel
from app.learning.honest.curve import Curve

TargetName = Literal["false_positive_rate", "sensitivity", "precision", "reviews_per_day"]


class RateResponse(ResponseModel):
    """A rate with its 95% interval and the effective number of labels (Kish's); null with the reason if unknown."""

    value: float | None
    low: float | None
    high: float | None
    labels: Annotated[float, Field(description="Effective number: so many labels of equal weight are as precise.")]
    reason: str | None


class HonestRatesResponse(ResponseModel):
    """Rates of served verdicts as if every item had been labelled. `labels` of chosen items stand for `items`."""

    labels: float
    items: float
    balanced_accuracy: RateResponse
    sensitivity: RateResponse
    specificity: RateResponse
    precision: RateResponse
    flagged: RateResponse


class HonestResponse(ResponseModel):
    """Since the start, and lately: earlier labels fade, to a third after 1,000 labels of chosen items."""

    ever: HonestRatesResponse
    lately: HonestRatesResponse


class TargetResponse(ResponseModel):
    """What the threshold follows, whether there are labels enough for it, and the rate that was realised lately."""

    name: TargetName
    value: float
    followed: bool
    reason: str | None
    realised: RateResponse


class CurvePointResponse(ResponseModel):
    """The rates of the verdicts with this threshold."""

    threshold: float
    sensitivity: RateResponse
    specificity: RateResponse
    precision: RateResponse
    flagged: RateResponse


class CurveResponse(ResponseModel):
    """Points by rising threshold, and `now`, at the threshold in force; null with the reason if no scores are kept.

    `weighted` is false if the labels are not those of chosen items: then the curve is that of the labels as they came.
    """

    tenant: str
    version: int
    threshold: Number
    weighted: bool
    anomalies: int
    normal: int
    now: CurvePointResponse | None
    points: list[CurvePointResponse] | None
    reason: str | None

    @classmethod
    def of(cls, tenant: str, version: int, curve: Curve) -> "CurveResponse":
        """Return a curve as the API shows it."""
        return cls(
            tenant=tenant,
            version=version,
            threshold=curve.threshold,
            weighted=curve.weighted,
            anomalies=curve.anomalies,
            normal=curve.normal,
            now=None if curve.now is None else CurvePointResponse.model_validate(curve.now),
            points=None if curve.points is None else [CurvePointResponse.model_validate(each) for each in curve.points],
            reason=curve.reason,
        )
