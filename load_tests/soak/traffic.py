"""What is asked: mostly predictions, and labels that come in every way in which they may.

Every tenant is first taught the whole vocabulary, which then stays as it is: models do not grow during the run, so
whatever grows is something else. Seeds are fixed; what is asked when depends on the answers' times alone.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from load_tests.harness.traffic import name_of, zipf

SEED = 20_250_101
TENANTS = tuple(f"soak-{number:02d}" for number in range(50))
VOCABULARY = 2000
EXAMPLES = 1000
FEATURES = 20  # of an example
ANOMALIES = 0.25
NOISE = 0.05  # of the labels are wrong
BATCH = 5

BY_FEATURES = 0.02  # of the requests: labels with their features
IN_BATCHES = 0.004  # of the requests: batches of such labels
LABELLED_LATER = 0.025  # of the predictions get a label by their id
MEAN_DELAY_SECONDS = 3.0
LONGEST_DELAY_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Example:
    """Features as a JSON object, and what they really are."""

    features: bytes
    label: int


@dataclass(frozen=True, slots=True)
class Label:
    """A label on its way: by the id of a prediction if there is one, else with its features."""

    tenant: str
    feedback_id: str
    label: int
    features: bytes
    prediction_id: str = ""

    @property
    def item(self) -> bytes:
        """As one of a batch."""
        source = b'"features":%b' % self.features
        if self.prediction_id:
            source = b'"prediction_id":"%b"' % self.prediction_id.encode()
        return b'{"feedback_id":"%b","label":%d,%b}' % (self.feedback_id.encode(), self.label, source)

    @property
    def body(self) -> bytes:
        """By itself."""
        return b'{"tenant":"%b",%b' % (self.tenant.encode(), self.item[1:])


@dataclass(frozen=True, slots=True)
class Prediction:
    """A question; `label_after_seconds` if a moderator will look at the answer."""

    tenant: str
    example: Example
    label_after_seconds: float | None

    @property
    def body(self) -> bytes:
        """Of the request."""
        return b'{"tenant":"%b","features":%b}' % (self.tenant.encode(), self.example.features)


Ask = Prediction | Label | list[Label]  # a list is sent as a batch


class Traffic:
    """Requests without end."""

    def __init__(self, seed: int = SEED) -> None:
        self._random = random.Random(seed)  # noqa: S311 - nothing is to be kept secret
        self._numbers = count(1)
        self._examples = [self._example() for _ in range(EXAMPLES)]
        self._popularity = zipf(len(TENANTS)).cumsum().tolist()

    def first_labels(self) -> Iterator[Label]:
        """One for each tenant, with every feature that there will ever be."""
        features = _json({name_of(number): 1 for number in range(VOCABULARY)})
        return (self.label(tenant, Example(features, -1)) for tenant in TENANTS)

    def ask(self) -> Ask:
        """The next request."""
        (tenant,) = self._random.choices(TENANTS, cum_weights=self._popularity)
        drawn = self._random.random()
        if drawn < BY_FEATURES:
            return self.label(tenant, self._any())
        if drawn < BY_FEATURES + IN_BATCHES:
            return [self.label(tenant, self._any()) for _ in range(BATCH)]
        return Prediction(tenant, self._any(), self._delay())

    def label(self, tenant: str, example: Example, prediction_id: str = "") -> Label:
        """What a moderator says, under an id that is never used again."""
        wrong = self._random.random() < NOISE
        number = next(self._numbers)
        label = -example.label if wrong else example.label
        return Label(tenant, f"label-{number}", label, example.features, prediction_id)

    def _any(self) -> Example:
        return self._random.choice(self._examples)

    def _delay(self) -> float | None:
        if self._random.random() >= LABELLED_LATER:
            return None
        return min(self._random.expovariate(1.0 / MEAN_DELAY_SECONDS), LONGEST_DELAY_SECONDS)

    def _example(self) -> Example:
        """Anomalies have features of the upper half more often."""
        label = 1 if self._random.random() < ANOMALIES else -1
        middle = VOCABULARY * (0.6 if label > 0 else 0.4)
        numbers = {int(self._random.triangular(0, VOCABULARY, middle)) for _ in range(FEATURES)}
        values = {name_of(number): self._random.choice((1, 2, 0.5)) for number in sorted(numbers)}
        return Example(_json(values), label)


def _json(features: dict[str, float]) -> bytes:
    return ("{" + ",".join(f'"{name}":{value}' for name, value in features.items()) + "}").encode()
