"""Inputs of requests: which tenant they name, which input they carry, whether their ids are valid."""

import re
from collections.abc import Callable
from functools import cache
from typing import NoReturn

import msgspec
from msgspec import UNSET, Raw, UnsetType

from app.api.errors import BadInput, TooLarge
from app.api.fast_path.messages import EmailBytes, FeedbackItem, Input, KeptInput
from app.api.schemas.names import is_id, is_tenant_name
from app.auth.keys import Key
from app.features.featurizer import KINDS, Kind
from app.learning.errors import BadExample, SluiceError, short_repr
from app.learning.example import LONGEST_TEXT, Example, example_of_json, joined, longest_name

INPUTS = f"features, one of {', '.join(KINDS)}, or both"
FEEDBACK_INPUTS = f"{INPUTS}; or only a prediction_id"


def check_tenant_name(name: str) -> str:
    """Return a tenant's name; BadInput if it is not valid."""
    if not is_tenant_name(name):
        raise BadInput(
            f"tenant {short_repr(name)} is not a valid name: it must have 1 to 128 of A-Z a-z 0-9 . _ - and begin with "
            "a letter or a digit"
        )
    return name


def tenant_of(item: Input, batch_tenant: str | None) -> str:
    """Return the tenant of an item: its own, or the batch's. It must not name another one than the batch."""
    if item.tenant is UNSET:
        if batch_tenant is None:
            raise BadInput("tenant is missing: name it in every line, or once in the query as ?tenant=")
        return batch_tenant
    if batch_tenant is not None and item.tenant != batch_tenant:
        raise BadInput(
            f"the item names tenant {short_repr(item.tenant)}, but all items here belong to tenant {batch_tenant!r}"
        )
    return item.tenant


def example_from(item: Input, max_features: int, max_name_bytes: int = LONGEST_TEXT) -> Example:
    """Return the example of the features that a caller gave."""
    example = example_of_json(item.features)
    check_example(item, example, max_features, max_name_bytes)
    return example


def kept_example(kept: KeptInput, max_features: int) -> Example:
    """Return the example of a kept prediction, exactly as it was scored."""
    if not kept.found:
        return example_from(kept, max_features)
    found = msgspec.structs.replace(example_of_json(kept.found), given=0)
    return joined(example_of_json(kept.features), found) if kept.features else found


def check_example(item: Input, example: Example, max_features: int, max_name_bytes: int) -> None:
    """Check the number of features and the length of their names.

    No name is longer than the JSON it stands in, so most names need no check.
    """
    if not 0 < example.keys.size <= max_features:
        refuse_size(example.keys.size, max_features)
    if len(item.features) > max_name_bytes:
        name, size = longest_name(example.names)
        if size > max_name_bytes:
            what = f"the name of feature {short_repr(name)} has {size:,} bytes"
            raise TooLarge(what, max_name_bytes, "bytes", "SLUICE_MAX_FEATURE_NAME_BYTES")


def may_exceed_name_limit(item: Input, max_name_bytes: int) -> bool:
    """Return whether a name may be too long, in features without escapes: only names stand in quotes there."""
    return len(item.features) > max_name_bytes and _long_name(max_name_bytes)(item.features) is not None


def raw_input_of(item: Input) -> tuple[Kind, str | bytes]:
    """Return the kind of the raw input, and the input."""
    given = [(kind, raw) for kind in KINDS if (raw := getattr(item, kind)) is not UNSET]
    if len(given) != 1:
        refuse_inputs(item)
    kind, raw = given[0]
    return kind, raw.base64 if isinstance(raw, EmailBytes) else raw


def input_bytes(item: Input) -> bytes:
    """Return the features alone, as JSON: what is kept of an item of a batch."""
    return b'{"features":%b}' % item.features


def check_ids(feedback: FeedbackItem) -> None:
    """Check ids and the moderator's name: they are stored and shown."""
    for name in ("prediction_id", "feedback_id", "moderator"):
        value: str | UnsetType | None = getattr(feedback, name)
        if isinstance(value, str):
            check_id(name, value)


def with_moderator(item: FeedbackItem | Exception, key: Key) -> FeedbackItem | Exception:
    """Return an item with the moderator that its caller's key allows, or the error if it names another one."""
    if isinstance(item, Exception) or item.moderator == key.moderator:
        return item
    try:
        return msgspec.structs.replace(item, moderator=key.moderator_for(item.moderator))
    except SluiceError as error:
        return error


def check_id(name: str, value: str) -> str:
    """Return an id; BadInput if it is not valid."""
    if not is_id(value):
        raise BadInput(f"{name} is {short_repr(value)}; it must have 1 to 200 characters and no control characters")
    return value


def refuse_inputs(item: Input) -> NoReturn:
    """Raise BadInput: there is no input, or more than one raw input."""
    given = [name for name in KINDS if getattr(item, name) is not UNSET]
    found = f"both {' and '.join(map(repr, given))} are given" if given else "no input is given"
    raise BadInput(f"{found}; send {FEEDBACK_INPUTS if isinstance(item, FeedbackItem) else INPUTS}")


def refuse_size(features: int, max_features: int) -> NoReturn:
    """Raise the error for an example with no features, or with too many."""
    if not features:
        raise BadExample("the features are empty; send at least one")
    raise TooLarge(
        f"the example has {features:,} features", max_features, "features", "SLUICE_MAX_FEATURES_PER_EXAMPLE"
    )


@cache
def _long_name(max_bytes: int) -> Callable[[Raw], re.Match[bytes] | None]:
    """Search for anything long between two quotes; a wide gap between two names may be found too."""
    return re.compile(rb'"[^"]{%d}' % (max_bytes + 1)).search
