"""What the clients know: every acknowledged label, every latency, and all that did not go well."""

from array import array
from collections import Counter
from dataclasses import dataclass, field

from load_tests.soak.traffic import Label

SURPRISES_KEPT = 20
BY_ID, BY_FEATURES, IN_BATCHES = "by prediction_id", "with features", "in batches"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A label for which a service has answered 200."""

    tenant: str
    label: int
    version: int  # 0 if the answer did not tell


@dataclass(slots=True)
class Ledger:
    """Filled by the thread of the load; others may read its counts at any time. All times are of one clock."""

    acknowledged: dict[str, Acknowledged] = field(default_factory=dict)  # by feedback_id
    acknowledged_at: "array[float]" = field(default_factory=lambda: array("d"))
    ways: Counter[str] = field(default_factory=Counter)  # in which acknowledged labels were sent
    duplicates: int = 0  # answers that say so: an attempt before had arrived, without an answer
    forgotten: int = 0  # told by a 409 that they count, though what they did is not known any more
    given_up: list[str] = field(default_factory=list)  # feedback_ids

    requests: int = 0  # that somebody answered
    predicted_at: "array[float]" = field(default_factory=lambda: array("d"))
    prediction_seconds: "array[float]" = field(default_factory=lambda: array("d"))  # from the first attempt on
    predictions_failed: int = 0
    predictions_not_kept: int = 0  # answered without an id, as while the store is away
    expired: int = 0  # labels by prediction_id that were answered with 410, and sent with their features

    passed_on: Counter[str] = field(default_factory=Counter)  # why another service had to be asked
    sent_again: int = 0  # labels that no service had accepted at first
    surprises: Counter[str] = field(default_factory=Counter)  # answers that nobody should get

    def acknowledge(self, label: Label, way: str, at: float, version: int, *, duplicate: bool) -> None:
        """From now on this label must never be lost."""
        self.acknowledged[label.feedback_id] = Acknowledged(label.tenant, label.label, version)
        self.acknowledged_at.append(at)
        self.ways[way] += 1
        self.duplicates += duplicate

    def acknowledge_forgotten(self, label: Label, way: str, at: float) -> None:
        """The label counts, says the answer, but not what it did."""
        self.forgotten += 1
        self.acknowledge(label, way, at, version=0, duplicate=True)

    def predicted(self, asked_at: float, answered_at: float, *, kept: bool) -> None:
        """A prediction was answered."""
        self.predicted_at.append(asked_at)
        self.prediction_seconds.append(answered_at - asked_at)
        self.predictions_not_kept += not kept

    def surprised(self, text: str) -> None:
        """An answer that nobody should get; of very many different ones the first are kept in words."""
        known = text in self.surprises or len(self.surprises) < SURPRISES_KEPT
        self.surprises[text if known else "others"] += 1
