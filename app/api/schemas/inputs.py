"""What can be scored or learnt: features, and a URL, an e-mail, or a text."""

from binascii import a2b_base64
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from app.api.schemas.names import RequestModel, TenantName, optional
from kernels.examples.canonical import LARGEST_VALUE

RAW_INPUTS = ("url", "email", "text")
FeatureName = Annotated[str, Field(min_length=1)]
FeatureNumber = Annotated[float, Field(ge=-LARGEST_VALUE, le=LARGEST_VALUE)]
Features = Annotated[dict[FeatureName, FeatureNumber | bool | str], Field(min_length=1)]


def _check_base64(text: str) -> str:
    a2b_base64(text, strict_mode=True)
    return text


class EmailBytes(RequestModel):
    """The bytes of an e-mail."""

    base64: Annotated[
        str,
        AfterValidator(_check_base64),
        Field(json_schema_extra={"contentEncoding": "base64"}),
    ]


class InputItem(RequestModel):
    """`features`, one of `url`, `email` and `text`, or both."""

    features: Features = optional(
        "Feature names and their values: finite numbers; `true` is 1, `false` leaves the feature out, and "
        '`"a": "text"` is the feature `a=text`.'
    )
    url: str = optional("A URL.")
    email: str | EmailBytes = optional(
        "A raw e-mail (RFC 822), as text that is encoded as UTF-8; or its bytes as base64."
    )
    text: str = optional("A text.")

    @model_validator(mode="after")
    def check_inputs(self) -> Self:
        """Refuse a body without an input, with two raw inputs, or with an input beside a prediction_id."""
        raw = [name for name in RAW_INPUTS if name in self.model_fields_set]
        has_features, has_id = "features" in self.model_fields_set, "prediction_id" in self.model_fields_set
        if len(raw) > 1 or has_id == bool(raw or has_features):
            raise ValueError("send features, one of url, email and text, or both; for feedback or only a prediction_id")
        if has_features:
            feature_numbers(self.features)
        return self


class FeaturesRequest(InputItem):
    """An input whose features are shown. The tenant decides which version of the featurizers is used."""

    tenant: TenantName = optional("Use this tenant's version of the featurizers; without it, the newest.")


def feature_numbers(features: dict[str, Any]) -> dict[str, float]:
    """Return features as numbers by name, as the learning core counts them."""
    numbers: dict[str, float] = {}
    for name, value in features.items():
        if value is False:
            continue
        full_name, number = (f"{name}={value}", 1.0) if isinstance(value, str) else (name, float(value))
        if full_name in numbers:
            raise ValueError(f"feature {full_name!r} is given twice")
        numbers[full_name] = number
    if not numbers:
        raise ValueError("the features are empty; send at least one")
    return numbers
