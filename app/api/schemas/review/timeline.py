"""Answers of /tenants/{tenant}/timeline."""

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.names import ResponseModel
from app.api.schemas.review.honest import RateResponse
from app.tenants.labels.timeline import Mark, Period, Timeline


class ServedRatesResponse(ResponseModel):
    """Rates of the verdicts as answered, of the labels as they came; null until they are defined."""

    examples: int
    balanced_accuracy: float | None
    sensitivity: float | None
    specificity: float | None


class ChosenRatesResponse(ResponseModel):
    """The same as if every item had been labelled, from the labels of chosen items."""

    labels: float
    balanced_accuracy: RateResponse
    sensitivity: RateResponse
    specificity: RateResponse


class DelayResponse(ResponseModel):
    """From a prediction to its label."""

    labels: int
    median_seconds: float | None
    p90_seconds: float | None


class PeriodResponse(ResponseModel):
    """The labels that were given since a time and before `until` (milliseconds since 1970)."""

    since: int
    until: int
    anomalies: int
    normal: int
    served: ServedRatesResponse
    honest: ChosenRatesResponse
    delay: DelayResponse

    @classmethod
    def of(cls, period: Period) -> "PeriodResponse":
        """Return a period as the API shows it."""
        served = period.served
        return cls(
            since=period.since,
            until=period.until,
            anomalies=period.anomalies,
            normal=period.normal,
            served=ServedRatesResponse(
                examples=int(served.examples),
                balanced_accuracy=served.balanced_accuracy,
                sensitivity=served.sensitivity,
                specificity=served.specificity,
            ),
            honest=ChosenRatesResponse.model_validate(period.honest),
            delay=DelayResponse.model_validate(period.delay),
        )


class MarkResponse(ResponseModel):
    """Drift to the worse among the labels of a class (the last for each), or a change of settings."""

    at: int
    kind: Literal["drift", "settings"]
    what: Annotated[list[str], Field(description="`anomaly` or `normal`; or the names of the settings.")]

    @classmethod
    def of(cls, mark: Mark) -> "MarkResponse":
        """Return a mark as the API shows it."""
        return cls(at=mark.at_milliseconds, kind=mark.kind, what=list(mark.what))  # type: ignore[arg-type]  # one of them


class TimelineResponse(ResponseModel):
    """Labels over time, without those that were taken back: periods of equal width at round times (UTC).

    `whole` is exactly the time that was asked for.
    """

    tenant: str
    version: int
    labels: Annotated[int, Field(description="How many labels the answer rests on: the newest, up to 50,000.")]
    first_at: Annotated[int | None, Field(description="The time of the first of them; null: there is none.")]
    complete: Annotated[bool, Field(description="Whether the log has no earlier labels.")]
    period_seconds: float
    whole: PeriodResponse
    periods: list[PeriodResponse]
    marks: list[MarkResponse]

    @classmethod
    def of(cls, tenant: str, found: Timeline) -> "TimelineResponse":
        """Return a timeline as the API shows it."""
        return cls(
            tenant=tenant,
            version=found.version,
            labels=found.labels,
            first_at=found.first_milliseconds,
            complete=found.is_complete,
            period_seconds=found.width_milliseconds / 1000,
            whole=PeriodResponse.of(found.whole),
            periods=[PeriodResponse.of(each) for each in found.periods],
            marks=[MarkResponse.of(each) for each in found.marks],
        )
