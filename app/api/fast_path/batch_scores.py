"""Scoring many items of one tenant in one kernel call."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import UNSET

from app.api.backend import Backend, RequestLimits
from app.api.fast_path.inputs import input_bytes, may_exceed_name_limit
from app.api.fast_path.messages import Prediction, PredictItem
from app.api.routes.predict import prediction_of
from app.learning.example import Examples, examples_of_json
from app.tenants.predictions.blocks import Kept
from app.tenants.tenant import Tenant, Verdict

MAX_ITEMS = 64
MAX_BYTES = 1 << 18  # read and scored within about a millisecond, during which the event loop is blocked

T = TypeVar("T")


def slices(items: Sequence[T], sizes: Sequence[int]) -> Iterator[Sequence[T]]:
    """Split items, in order, into parts that are small enough for one call; a single large item is a part too."""
    first = size = 0
    for index, more in enumerate(sizes):
        size += more
        if index > first and (size > MAX_BYTES or index - first == MAX_ITEMS):
            yield items[first:index]
            first, size = index, more
    if first < len(items):
        yield items[first:]


def predict_together(
    backend: Backend, tenant: Tenant, items: Sequence[PredictItem], given: Sequence[bytes] | None = None
) -> list[Prediction] | None:
    """Score all items; None if one of them is unusual: then each has to be scored alone.

    What is kept for feedback is what was `given`, or else the input of each item.
    """
    examples = _examples(items, backend.limits)
    if examples is None:
        return None
    try:
        verdicts = tenant.predict_all(examples)
        kept = _keep(backend, tenant, items, given, verdicts)
    except Exception:  # noqa: BLE001 - scored alone, the item that caused it gets the error
        return None
    return [prediction_of(tenant, verdict, each) for verdict, each in zip(verdicts, kept, strict=True)]


def _examples(items: Sequence[PredictItem], limits: RequestLimits) -> Examples | None:
    """Return all examples, if each is given by its features alone, and no explanation is wanted."""
    if not all([each.url is each.email is each.text is UNSET and not each.explain for each in items]):  # noqa: C419 - a list is faster here
        return None
    if any([may_exceed_name_limit(each, limits.max_feature_name_bytes) for each in items]):  # noqa: C419 - the same
        return None
    examples = examples_of_json([each.features for each in items])
    if examples is None:
        return None
    sizes = examples.starts[1:] - examples.starts[:-1]
    return examples if sizes.min() > 0 and sizes.max() <= limits.max_features_per_example else None


def _keep(
    backend: Backend,
    tenant: Tenant,
    items: Sequence[PredictItem],
    given: Sequence[bytes] | None,
    verdicts: Sequence[Verdict],
) -> Sequence[Kept | None]:
    keep = [index for index, each in enumerate(items) if each.keep]
    if not keep:
        return [None] * len(items)
    inputs = [input_bytes(items[index]) if given is None else given[index] for index in keep]
    found: list[Kept | None] = [None] * len(items)
    kept = backend.predictions.keep_all(tenant, inputs, [verdicts[index] for index in keep])
    for index, each in zip(keep, kept, strict=True):
        found[index] = each
    return found
