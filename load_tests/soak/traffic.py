"""The requests: mostly predictions, and labels in every form that the API has.

Every tenant first learns the whole vocabulary, so models do not grow during the run: other growth is a leak. Seeds are
fixed; the order of requests depends on response times alone.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from load_tests.harness.sizes import SEED
from load_tests.harness.traffic import examples, name_of, zipf

TENANTS = tuple(f"soak-{number:02d}" for number in range(50))
VOCABULARY = 2000
EXAMPLES = 1000
FEATURES = 20  # of an example
ANOMALIES = 0.25  # of the labels
BATCH = 5

BY_FEATURES = 0.02  # of the requests: labels with their features
IN_BATCHES = 0.004  # of the requests: batches of such labels
LABELLED_LATER = 0.025  # of the predictions get a label by their id
MEAN_DELAY_SECONDS = 3.0
LONGEST_DELAY_SECONDS = 15.0


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
        source = f'"prediction_id":"{self.prediction_id}"' if self.prediction_id else f'"features":{self.features}'
        return f'"feedback_id":"{self.feedback_id}","label":{self.label},{source}'


@dataclass(frozen=True, slots=True)
class Prediction:
    """A request for a prediction; `label_after_seconds` if a moderator labels it later."""

    tenant: str
    features: str
    label_after_seconds: float | None


class Traffic:
    """Requests without end."""

    def __init__(self, seed: int = SEED) -> None:
        self._random = random.Random(seed)  # noqa: S311 - no secrets
        self._numbers = count(1)
        self._examples = [features.decode() for features in examples(EXAMPLES, VOCABULARY, features=FEATURES)]
        self._popularity = zipf(len(TENANTS)).cumsum().tolist()

    def first_labels(self) -> Iterator[Label]:
        """One for each tenant, with every feature of the vocabulary."""
        features = json.dumps({name_of(number): 1 for number in range(VOCABULARY)})
        return (self.label(tenant, features) for tenant in TENANTS)

    def next_request(self) -> Prediction | list[Label]:
        (tenant,) = self._random.choices(TENANTS, cum_weights=self._popularity)
        drawn, features = self._random.random(), self._random.choice(self._examples)
        if drawn < BY_FEATURES:
            return [self.label(tenant, features)]
        if drawn < BY_FEATURES + IN_BATCHES:
            return [self.label(tenant, self._random.choice(self._examples)) for _ in range(BATCH)]
        if self._random.random() >= LABELLED_LATER:
            return Prediction(tenant, features, None)
        delay = self._random.expovariate(1.0 / MEAN_DELAY_SECONDS)
        return Prediction(tenant, features, min(delay, LONGEST_DELAY_SECONDS))

    def label(self, tenant: str, features: str, prediction_id: str = "") -> Label:
        label = 1 if self._random.random() < ANOMALIES else -1
        return Label(tenant, f"label-{next(self._numbers)}", label, features, prediction_id)
