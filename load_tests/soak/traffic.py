"""The requests: mostly predictions, and labels in every form in which they may come.

Every tenant first learns the whole vocabulary, which then stays as it is: models do not grow during the run, so
whatever grows is something else. Seeds are fixed; which request comes when depends on response times alone.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from load_tests.harness.sizes import SEED
from load_tests.harness.traffic import name_of, zipf

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
    """Features as a JSON object, and their true label."""

    features: str
    label: int


@dataclass(frozen=True, slots=True)
class Label:
    """A label to be sent: by the id of a prediction if there is one, else with its features."""

    tenant: str
    feedback_id: str
    label: int
    features: str
    prediction_id: str = ""

    @property
    def item(self) -> str:
        """As one of a batch."""
        source = f'"prediction_id":"{self.prediction_id}"' if self.prediction_id else f'"features":{self.features}'
        return f'{{"feedback_id":"{self.feedback_id}","label":{self.label},{source}}}'

    @property
    def body(self) -> bytes:
        """As a request."""
        return f'{{"tenant":"{self.tenant}",{self.item[1:]}'.encode()


@dataclass(frozen=True, slots=True)
class Prediction:
    """A request for a prediction; `label_after_seconds` if a moderator labels it later."""

    tenant: str
    example: Example
    label_after_seconds: float | None

    @property
    def body(self) -> bytes:
        """As a request."""
        return f'{{"tenant":"{self.tenant}","features":{self.example.features}}}'.encode()


class Traffic:
    """Requests without end."""

    def __init__(self, seed: int = SEED) -> None:
        self._random = random.Random(seed)  # noqa: S311 - no secrets
        self._numbers = count(1)
        self._examples = [self._example() for _ in range(EXAMPLES)]
        self._popularity = zipf(len(TENANTS)).cumsum().tolist()

    def first_labels(self) -> Iterator[Label]:
        """One for each tenant, with every feature of the vocabulary."""
        features = json.dumps({name_of(number): 1 for number in range(VOCABULARY)})
        return (self.label(tenant, Example(features, -1)) for tenant in TENANTS)

    def next_request(self) -> Prediction | Label | list[Label]:
        """A prediction, a label, or a batch of labels."""
        (tenant,) = self._random.choices(TENANTS, cum_weights=self._popularity)
        drawn, example = self._random.random(), self._random.choice(self._examples)
        if drawn < BY_FEATURES:
            return self.label(tenant, example)
        if drawn < BY_FEATURES + IN_BATCHES:
            return [self.label(tenant, self._random.choice(self._examples)) for _ in range(BATCH)]
        if self._random.random() >= LABELLED_LATER:
            return Prediction(tenant, example, None)
        delay = self._random.expovariate(1.0 / MEAN_DELAY_SECONDS)
        return Prediction(tenant, example, min(delay, LONGEST_DELAY_SECONDS))

    def label(self, tenant: str, example: Example, prediction_id: str = "") -> Label:
        """What a moderator says, under a unique id."""
        label = -example.label if self._random.random() < NOISE else example.label
        return Label(tenant, f"label-{next(self._numbers)}", label, example.features, prediction_id)

    def _example(self) -> Example:
        """Anomalies have features of the upper half more often."""
        label = 1 if self._random.random() < ANOMALIES else -1
        middle = VOCABULARY * (0.6 if label > 0 else 0.4)
        numbers = {int(self._random.triangular(0, VOCABULARY, middle)) for _ in range(FEATURES)}
        return Example(json.dumps({name_of(each): self._random.choice((1, 2, 0.5)) for each in sorted(numbers)}), label)
