"""What requests and answers look like. Requests are strict: an unknown field is refused by its name."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from app.api.problems import ItemRefused
from app.learning.config import Value

NO_FEATURES = Raw()
Label = Literal[1, -1]
Rate = float | None  # None until it is defined
Number = float | None  # null in JSON if it is not finite: the weights of a model may have overflowed


class MailIn(Struct, frozen=True, forbid_unknown_fields=True):
    """An e-mail whose bytes are no text, as base64."""

    base64: bytes


class Input(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is to be scored: exactly one of the four. The features stay JSON until a kernel reads them."""

    tenant: str | UnsetType = UNSET
    features: Raw = NO_FEATURES
    url: str | UnsetType = UNSET
    email: str | MailIn | UnsetType = UNSET
    text: str | UnsetType = UNSET


class FeaturesIn(Input, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A question: what the input is turned into. The tenant says by which version of the featurizers."""


class PredictIn(Input, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A question: whether this is an anomaly."""

    explain: Annotated[int, Meta(ge=0, le=100)] = 0
    keep: bool = True


class FeedbackIn(Input, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A moderator's answer. The prediction's id may stand for its input."""

    label: Label
    prediction_id: str | UnsetType = UNSET
    feedback_id: str | None = None
    moderator: str | None = None


class BatchIn(Struct, frozen=True, forbid_unknown_fields=True):
    """Items of one tenant; each is decoded alone, so that a bad one leaves the others."""

    tenant: str
    items: list[Raw]


class PredictBatchIn(Struct, frozen=True, forbid_unknown_fields=True):
    """The same, decoded in one go: what to try first, because most batches have no bad item."""

    tenant: str
    items: list[PredictIn]


class Contribution(Struct, frozen=True):
    """What a feature adds to the score."""

    feature: str
    contribution: Number


class PredictOut(Struct, frozen=True):
    """A verdict: 1 is an anomaly, -1 is normal. `version` is the number of log events that it knows.

    `cut` says what of the input was not looked at, if there is such a part.
    """

    prediction_id: str | None
    tenant: str
    label: Label
    score: Number
    version: int
    algorithm: str
    needs_review: bool
    explanation: Sequence[Contribution] = ()
    cut: Sequence[str] | UnsetType = UNSET


class ServedOut(Struct, frozen=True):
    """What the service had answered when it was asked."""

    label: Label
    score: Number


class FeedbackOut(Struct, frozen=True):
    """What a label did. `predicted`, `score` and `loss` are of just before learning: test, then train."""

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
    served: ServedOut | None
    cut: Sequence[str] | UnsetType = UNSET


class FeaturesOut(Struct, frozen=True):
    """What an input is turned into, in order; `cut` says what of it was not looked at, if there is such a part."""

    kind: Literal["features", "url", "email", "text"]
    featurizer: int
    features: dict[str, float]
    cut: Sequence[str] | UnsetType = UNSET


class PredictBatchOut(Struct, frozen=True):
    """A result for every item, in order."""

    results: list[PredictOut | ItemRefused]


class FeedbackBatchOut(Struct, frozen=True):
    """A result for every item, in order."""

    results: list[FeedbackOut | ItemRefused]


class Counts(Struct, frozen=True):
    """How many labels have been learnt."""

    examples: int
    positives: int
    negatives: int


class Rates(Struct, frozen=True):
    """How good verdicts were; null until it is defined."""

    examples: int
    balanced_accuracy: Rate
    sensitivity: Rate
    specificity: Rate


class ClassDriftOut(Struct, frozen=True):
    """Changes of one class's error rate. `labels` and `error` are of the window since about the last of them.

    `last_worse_at` is how many labels, of both classes, had been learnt when the last change to the worse was found.
    """

    worse: int
    better: int
    labels: int
    error: Rate
    last_worse_at: int | None


class DriftOut(Struct, frozen=True):
    """Whether verdicts go wrong more or less often than before: missed anomalies, and false alarms on the normal."""

    anomaly: ClassDriftOut
    normal: ClassDriftOut


class TenantOut(Struct, frozen=True, kw_only=True):
    """A tenant's configuration and state. `recent` is over the last labels; `served` is of what was answered."""

    tenant: str
    version: int
    algorithm: str
    config: dict[str, Value]
    counts: Counts
    balanced_accuracy: Rate
    sensitivity: Rate
    specificity: Rate
    recent: Rates
    served: Rates
    drift: DriftOut
    features: int
    nonzero_weights: int
    sparsity: Rate
    dropped_features: int
    memory_bytes: int
    digest: str


class ListedOut(Struct, frozen=True):
    """A tenant in the list; `loaded` says whether this worker has it in memory."""

    tenant: str
    version: int
    loaded: bool


class TenantsOut(Struct, frozen=True):
    """A page of the list, by name. `next` goes into ?after= for the page after it."""

    tenants: list[ListedOut]
    next: str | None


class WeightOut(Struct, frozen=True):
    """A feature's weight, and how much the model has seen of it."""

    feature: str
    weight: Number
    evidence: Number


class WeightsOut(Struct, frozen=True):
    """The weights of the largest size."""

    tenant: str
    version: int
    weights: list[WeightOut]


class SnapshotOut(Struct, frozen=True):
    """A snapshot in the store: of all its chunks, `written` were new."""

    tenant: str
    version: int
    digest: str
    chunks: int
    written: int
    bytes: int


class PartOut(Struct, frozen=True):
    """One thing that must work."""

    ok: bool
    detail: str


class ReadyOut(Struct, frozen=True):
    """Whether requests should be sent here."""

    status: Literal["ready", "not ready"]
    parts: dict[str, PartOut]


class AliveOut(Struct, frozen=True):
    """The process answers."""

    status: Literal["alive"] = "alive"


class ProblemKindOut(Struct, frozen=True):
    """What a problem's type means."""

    type: str
    title: str
    status: int
    remedy: str


features_decoder = msgspec.json.Decoder(FeaturesIn)
predict_decoder = msgspec.json.Decoder(PredictIn)
feedback_decoder = msgspec.json.Decoder(FeedbackIn)
predict_batch_decoder = msgspec.json.Decoder(PredictBatchIn)
batch_decoder = msgspec.json.Decoder(BatchIn)
settings_decoder: msgspec.json.Decoder[dict[str, Value]] = msgspec.json.Decoder(
    dict[str, int | float | str | bool | None]
)
