"""Cost of a request against the number of features that its tenant's model has."""

import time
from pathlib import Path

from load_tests.harness import traffic
from load_tests.harness.client import call as ask_well
from load_tests.harness.processes import Service, ended, resident_bytes
from load_tests.scale.figures import Asked
from load_tests.scale.loading import Load, in_turns
from load_tests.scale.requests import NEVER, body, feedbacks, import_model, predict, predicts
from load_tests.scale.results import ModelFound
from load_tests.scale.sizes import Sizes
from load_tests.scale.watching import Setup, store_bytes

EXAMPLES = 1000
BUDGET = "6GiB"  # so that none leaves memory
FIRST = b'{"token:w0":1}'


def measure(folder: Path, sizes: Sizes) -> list[ModelFound]:
    """All models in one worker, which take turns."""
    service = Service(folder, memory_budget_bytes=BUDGET, **NEVER)
    with ended(service.start()):
        service.is_ready()
        stored = {features: _imported(service, features) for features in sizes.models}
        service.kill()  # what importing took is no memory of the models
        service.start()
        service.is_ready()
        loaded = {features: _loaded(service, features) for features in sizes.models}
        asked = in_turns(_loads(Setup(service), sizes), sizes)
    return [_found(features, stored[features], loaded[features], asked) for features in sizes.models]


def _found(features: int, stored: int, loaded: tuple[int, float], asked: dict[str, Asked]) -> ModelFound:
    predicts, feedbacks = asked[f"/predict, {features}"], asked[f"/feedback, {features}"]
    return ModelFound(features, predicts, feedbacks, loaded[0], stored, loaded[1])


def _imported(service: Service, features: int) -> int:
    """What its snapshot takes in the store."""
    before = store_bytes(service)
    import_model(service, _name(features), features)
    return store_bytes(service) - before


def _loaded(service: Service, features: int) -> tuple[int, float]:
    """What it takes in the worker's memory, and how long the first answer waits for it."""
    before, start = resident_bytes(service.pid), time.perf_counter()
    ask_well(service.port, "POST", "/predict", body(predict(_name(features), FIRST)))
    seconds = time.perf_counter() - start
    return resident_bytes(service.pid) - before, seconds


def _loads(setup: Setup, sizes: Sizes) -> dict[str, Load]:
    loads = {}
    for features in sizes.models:
        examples, name = traffic.examples(EXAMPLES, vocabulary=features), _name(features)
        loads[f"/predict, {features}"] = Load(setup, predicts(name, examples))
        loads[f"/feedback, {features}"] = Load(setup, feedbacks(name, examples))
    return loads


def _name(features: int) -> str:
    return f"model-{features}"
