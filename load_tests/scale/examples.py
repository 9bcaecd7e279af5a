"""Cost of a request against the number of features that its example has."""

from pathlib import Path

from load_tests.harness.processes import Service, ended
from load_tests.scale.loading import Load, in_turns
from load_tests.scale.requests import NEVER, NOT_KEPT, body, feedbacks, import_model, long_examples, predicts
from load_tests.scale.results import ExampleFound
from load_tests.scale.sizes import Sizes
from load_tests.scale.watching import Setup

TENANT = "long"
VOCABULARY = 100_000  # all in the model
FEATURES_IN_ALL = 1_000_000  # of the different examples of one size together
LEAST, MOST = 100, 1000  # of them

PREDICT, NOT_KEPT_PREDICT, FEEDBACK = "/predict", "/predict, keep=false", "/feedback"


def measure(folder: Path, sizes: Sizes) -> list[ExampleFound]:
    """All sizes take turns."""
    requests = {features: _requests(features) for features in sizes.examples}
    service = Service(folder, **NEVER)
    with ended(service.start()):
        service.is_ready()
        import_model(service, TENANT, VOCABULARY)
        loads = {
            f"{kind}, {features}": Load(Setup(service), some)
            for features, kinds in requests.items()
            for kind, some in kinds.items()
        }
        asked = in_turns(loads, sizes)
    return [
        ExampleFound(
            features,
            sum(map(len, map(body, kinds[PREDICT]))) // len(kinds[PREDICT]),
            *(asked[f"{kind}, {features}"] for kind in (PREDICT, NOT_KEPT_PREDICT, FEEDBACK)),
        )
        for features, kinds in requests.items()
    ]


def _requests(features: int) -> dict[str, list[bytes]]:
    examples = long_examples(min(max(FEATURES_IN_ALL // features, LEAST), MOST), features, VOCABULARY)
    return {
        PREDICT: predicts(TENANT, examples),
        NOT_KEPT_PREDICT: predicts(TENANT, examples, NOT_KEPT),
        FEEDBACK: feedbacks(TENANT, examples),
    }
