"""Bodies of the hot routes as msgspec decodes and encodes them. `app.api.schemas` documents the same fields."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from app.api.responses import ItemError

NO_FEATURES = Raw()
Label = Literal[1, -1]
Number = float | None  # null in JSON if it is not finite: the weights of an imported model may overflow


class EmailBytes(Struct, frozen=True, forbid_unknown_fields=True):
    """An e-mail that is not text, as base64."""

    base64: bytes


class Input(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Features, a raw input, or both. The features stay JSON until a kernel reads them."""

    tenant: str | UnsetType = UNSET
    features: Raw = NO_FEATURES
    url: str | UnsetType = UNSET
    email: str | EmailBytes | UnsetType = UNSET
    text: str | UnsetType = UNSET


class PredictItem(Input, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An item of /predict/batch, which may leave out its tenant."""

    explain: Annotated[int, Meta(ge=0, le=100)] = 0
    keep: bool = True


class KeptInput(PredictItem, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The input of a kept prediction; `found` has the features of a raw input, beside those that the caller gave."""

    found: Raw = NO_FEATURES


class PredictMessage(PredictItem, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of /predict."""

    tenant: str


class FeedbackItem(Input, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An item of /feedback/batch, which may leave out its tenant."""

    label: Label
    prediction_id: str | UnsetType = UNSET  # in place of an input
    feedback_id: str | None = None
    moderator: str | None = None


class FeedbackMessage(FeedbackItem, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of /feedback."""

    tenant: str


class BatchMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """Items of one tenant; each is decoded alone, so that a bad one leaves the others."""

    tenant: str
    items: list[Raw]


class PredictBatchMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """The same, decoded at once: tried first, because most batches have no bad item."""

    tenant: str
    items: list[PredictItem]


class Contribution(Struct, frozen=True):
    """What a feature adds to the score."""

    feature: str
    contribution: Number


class Prediction(Struct, frozen=True):
    """The answer of /predict."""

    prediction_id: str | None
    tenant: str
    label: Label
    score: Number
    version: int
    algorithm: str
    needs_review: bool
    probability: float | None
    explanation: Sequence[Contribution] = ()
    cut: Sequence[str] | UnsetType = UNSET
    review_reason: str | UnsetType = UNSET


class ServedVerdict(Struct, frozen=True):
    """The verdict that /predict had answered."""

    label: Label
    score: Number


class EarlierLabel(Struct, frozen=True):
    """The earlier label of the prediction, which this one replaced."""

    version: int
    label: Label
    feedback_id: str | None
    moderator: str | None


class LearntFeedback(Struct, frozen=True):
    """The answer of /feedback."""

    tenant: str
    feedback_id: str
    version: int
    label: Label
    predicted: Label | None
    score: float | None
    loss: float | None
    updated: bool
    duplicate: bool
    reason: str | None
    served: ServedVerdict | None
    cut: Sequence[str] | UnsetType = UNSET
    replaced: EarlierLabel | UnsetType = UNSET
    chosen_with: float | UnsetType = UNSET


class Predictions(Struct, frozen=True):
    """The answer of /predict/batch: a result for every item, in order."""

    results: list[Prediction | ItemError]


class LearntBatch(Struct, frozen=True):
    """The answer of /feedback/batch: a result for every item, in order."""

    results: list[LearntFeedback | ItemError]


class NamedTenant(Struct, frozen=True):
    """The tenant that an item names, whatever else the item has."""

    tenant: str | UnsetType = UNSET


input_decoder = msgspec.json.Decoder(Input)
predict_decoder = msgspec.json.Decoder(PredictMessage)
predict_item_decoder = msgspec.json.Decoder(PredictItem)
kept_decoder = msgspec.json.Decoder(KeptInput)
feedback_decoder = msgspec.json.Decoder(FeedbackMessage)
feedback_item_decoder = msgspec.json.Decoder(FeedbackItem)
named_tenant_decoder = msgspec.json.Decoder(NamedTenant)
predict_batch_decoder = msgspec.json.Decoder(PredictBatchMessage)
batch_decoder = msgspec.json.Decoder(BatchMessage)
