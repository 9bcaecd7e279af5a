"""What is asked and taught. It follows from the tenant and a number: each run asks the same."""

import json
from itertools import count

FEATURES = 12
VOCABULARY = 400
PROBE = 999_983  # the number of the input by which scores are compared

_numbers = count()


def names_of(how_many: int) -> list[str]:
    """The tenants."""
    return [f"tenant-{number:05d}" for number in range(how_many)]


def new_id(kind: str) -> str:
    """A feedback_id that no other label has."""
    return f"{kind}-{next(_numbers)}"


def prediction(tenant: str, number: int = PROBE, *, keep: bool = False) -> bytes:
    """The body of POST /predict."""
    return _json({"tenant": tenant, "features": _features(tenant, number), "keep": keep})


def label(tenant: str, number: int, feedback_id: str) -> bytes:
    """The body of POST /feedback."""
    return _json({"tenant": tenant, **_labelled(tenant, number, feedback_id)})


def labels(tenant: str, feedback_ids: list[str]) -> bytes:
    """The body of POST /feedback/batch."""
    items = [_labelled(tenant, number, feedback_id) for number, feedback_id in enumerate(feedback_ids)]
    return _json({"tenant": tenant, "items": items})


def _labelled(tenant: str, number: int, feedback_id: str) -> dict[str, object]:
    kind = 1 if number % 4 == 0 else -1
    return {"features": _features(tenant, number), "label": kind, "feedback_id": feedback_id}


def _features(tenant: str, number: int) -> dict[str, float]:
    """Another mixture for every tenant, so that no two models are equal."""
    seed = int(tenant.rpartition("-")[2]) * 31 + number * 7919
    return {f"word:{(seed + k * k * 104_729) % VOCABULARY}": 1 + (seed + k) % 5 / 4 for k in range(FEATURES)}


def _json(body: dict[str, object]) -> bytes:
    return json.dumps(body).encode()
