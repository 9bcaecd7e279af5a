"""What a request says: which tenant, which input, which ids."""

import re
from collections.abc import Callable
from functools import cache
from typing import NoReturn

from msgspec import UNSET, Raw, UnsetType

from app.api.errors import BadInput, TooLarge
from app.api.wire import NO_FEATURES, FeedbackIn, Input, MailIn
from app.features.featurizer import KINDS, Kind
from app.learning.errors import BadExample, short_repr
from app.learning.example import LONGEST_TEXT, Example, example_of_json, longest_name

NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
ID_PATTERN = "^[^\\x00-\\x1f\\x7f]{1,200}$"
is_name = re.compile(NAME_PATTERN[1:-1]).fullmatch
is_id = re.compile(ID_PATTERN[1:-1]).fullmatch
INPUTS = ("features", *KINDS)


def tenant_name(name: str) -> str:
    """The name, if a tenant may have it."""
    if not is_name(name):
        raise BadInput(
            f"tenant {short_repr(name)} is no name: 1 to 128 of A-Z a-z 0-9 . _ -, beginning with a letter or a digit"
        )
    return name


def tenant_asked(asked: Input, outside: str | None) -> str:
    """The tenant that an item means: its own word, or the batch's; never another one than the batch's."""
    if asked.tenant is UNSET:
        if outside is None:
            raise BadInput("Object missing required field `tenant`")
        return outside
    if outside is not None and asked.tenant != outside:
        raise BadInput(
            f"the item names tenant {short_repr(asked.tenant)}, but all items here are of tenant {outside!r}"
        )
    return asked.tenant


def example_asked(asked: Input, at_most: int, longest: int = LONGEST_TEXT) -> Example:
    """The example to score or learn, of an input that is given by its features.

    No name is longer than the text that it stands in: so most names need no look.
    """
    if not asked.features or not (asked.url is asked.email is asked.text is UNSET):
        _refuse_inputs(asked)
    example = example_of_json(asked.features)
    if not 0 < example.keys.size <= at_most:
        _refuse_size(example.keys.size, at_most)
    if len(asked.features) > longest:
        _check_names(example, longest)
    return example


def may_name_too_long(asked: Input, longest: int) -> bool:
    """Whether a name may be too long, for features that are usual: quotes stand around their names, nowhere else."""
    return len(asked.features) > longest and _searching(longest)(asked.features) is not None


def raw_asked(asked: Input) -> tuple[Kind, str | bytes]:
    """What is to be turned into features, and what it is."""
    given = [(kind, raw) for kind in KINDS if (raw := getattr(asked, kind)) is not UNSET]
    if len(given) != 1 or asked.features:
        _refuse_inputs(asked)
    kind, raw = given[0]
    return kind, raw.base64 if isinstance(raw, MailIn) else raw


def check_size(example: Example, at_most: int) -> None:
    """Refuse an example without features, or with too many."""
    if not 0 < example.keys.size <= at_most:
        _refuse_size(example.keys.size, at_most)


def input_bytes(asked: Input) -> bytes:
    """The input alone, as JSON: what is kept of an item of a batch."""
    return b'{"features":%b}' % asked.features


def check_ids(asked: FeedbackIn) -> None:
    """Ids and the moderator's name are stored and shown: they must be short text without control characters."""
    for name in ("prediction_id", "feedback_id", "moderator"):
        value: str | UnsetType | None = getattr(asked, name)
        if isinstance(value, str):
            checked_id(name, value)


def checked_id(name: str, value: str) -> str:
    """The value, if it is fit to be an id."""
    if not is_id(value):
        raise BadInput(
            f"{name} is {short_repr(value)}; it must have 1 to 200 characters, none of them a control character"
        )
    return value


def _refuse_inputs(asked: Input) -> NoReturn:
    given = [name for name in INPUTS if getattr(asked, name) is not UNSET and getattr(asked, name) is not NO_FEATURES]
    said = f"both {' and '.join(map(repr, given))}" if given else "no input"
    raise BadInput(f"there is {said}; give exactly one of {', '.join(INPUTS)}")


def _refuse_size(features: int, at_most: int) -> NoReturn:
    if not features:
        raise BadExample("the features are empty: there is nothing to go by")
    raise TooLarge(f"the example has {features:,} features", at_most, "features", "SLUICE_MAX_FEATURES_PER_EXAMPLE")


@cache
def _searching(longest: int) -> Callable[[Raw], re.Match[bytes] | None]:
    """Whatever stands between two quotes is looked at: a wide gap between two names may look like a long name."""
    return re.compile(rb'"[^"]{%d}' % (longest + 1)).search


def _check_names(example: Example, longest: int) -> None:
    name, size = longest_name(example.names)
    if size > longest:
        what = f"the name of feature {short_repr(name)} has {size:,} bytes"
        raise TooLarge(what, longest, "bytes", "SLUICE_MAX_FEATURE_NAME_BYTES")
