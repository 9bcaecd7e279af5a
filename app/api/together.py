"""Many questions to one tenant, answered in one go: what costs most is then done once for all of them."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import UNSET

from app.api.inputs import input_bytes, may_name_too_long
from app.api.limits import Limits
from app.api.predicting import verdict_out
from app.api.serving import Serving
from app.api.wire import PredictIn, PredictOut
from app.learning.example import Examples, examples_of_json
from app.tenants.tenant import Tenant, Verdict

ITEMS_AT_ONCE = 64
BYTES_AT_ONCE = 1 << 18  # read and scored within about a millisecond: nobody else has a turn meanwhile

T = TypeVar("T")


def slices(items: Sequence[T], sizes: Sequence[int]) -> Iterator[Sequence[T]]:
    """Parts of the items in order, each small enough to be answered in one go, unless a single item is not."""
    first = size = 0
    for index, more in enumerate(sizes):
        size += more
        if index > first and (size > BYTES_AT_ONCE or index - first == ITEMS_AT_ONCE):
            yield items[first:index]
            first, size = index, more
    if first < len(items):
        yield items[first:]


def predicted_together(
    serve: Serving, tenant: Tenant, asked: Sequence[PredictIn], given: Sequence[bytes] | None = None
) -> list[PredictOut] | None:
    """The answers to all; None if one of them is unusual: then they have to be asked one by one.

    What is kept for feedback is what was `given`, or else the input of each.
    """
    examples = _examples(asked, serve.limits)
    if examples is None:
        return None
    try:
        verdicts = tenant.predict_all(examples)
        ids = _kept(serve, tenant, asked, given, verdicts)
    except Exception:  # noqa: BLE001 - asked one by one, it is told in the place of the item that it concerns
        return None
    return [verdict_out(tenant, verdict, kept) for verdict, kept in zip(verdicts, ids, strict=True)]


def _examples(asked: Sequence[PredictIn], limits: Limits) -> Examples | None:
    """All examples, if each is given by its features alone, and no explanation is wanted."""
    if not all([each.url is each.email is each.text is UNSET and not each.explain for each in asked]):  # noqa: C419 - a list is faster here
        return None
    if any([may_name_too_long(each, limits.max_feature_name_bytes) for each in asked]):  # noqa: C419 - the same
        return None
    examples = examples_of_json([each.features for each in asked])
    if examples is None:
        return None
    sizes = examples.starts[1:] - examples.starts[:-1]
    return examples if sizes.min() > 0 and sizes.max() <= limits.max_features_per_example else None


def _kept(
    serve: Serving,
    tenant: Tenant,
    asked: Sequence[PredictIn],
    given: Sequence[bytes] | None,
    verdicts: Sequence[Verdict],
) -> Sequence[str | None]:
    keep = [index for index, each in enumerate(asked) if each.keep]
    if not keep:
        return [None] * len(asked)
    inputs = [input_bytes(asked[index]) if given is None else given[index] for index in keep]
    ids: list[str | None] = [None] * len(asked)
    for index, kept in zip(keep, serve.pending.keep_all(tenant, inputs, [verdicts[i] for i in keep]), strict=True):
        ids[index] = kept
    return ids
