"""From the contributions of features to the reasons of an input.

N-grams and other fragments are added to the words that they came from, and every reason is worded for people who do
not know the features. Without the raw input, the names of the features say what they can; then there are no places.
"""

from collections.abc import Sequence

import msgspec

from app.features.featurizer import KINDS, Kind
from app.features.reasons.email import MailParts, group_email, mail_parts, mail_places
from app.features.reasons.given import wording_of_given
from app.features.reasons.reason import Groups, Place, Reason
from app.features.reasons.text import group_text, visible_text
from app.features.reasons.url import group_url

# Every input of a kind has features with these beginnings.
MARKS: dict[Kind, str] = {"url": "len:url:", "email": "rcvd:hops:", "text": "length:"}


def reasons_of(
    kind: str | None,
    raw: str | bytes | None,
    contributions: Sequence[tuple[str, float]],
    most: int | None = None,
) -> list[Reason]:
    """Return the reasons that contributions of features stand for, the largest first, and at most so many.

    Give the contributions of all features, so that fragments find their words. Without a kind, their names tell it.
    """
    groups = Groups()
    if kind is None or kind not in KINDS:
        kind, raw = _kind_of(contributions), None
    match kind:
        case "url":
            group_url(_text(raw), contributions, groups)
        case "text":
            text = _text(raw)
            phrases = group_text(text, contributions, groups)
            reasons = groups.reasons(most)
            return _placed(reasons, phrases.places(reasons, "text", visible_text(text or "")))
        case "email":
            found = group_email(contributions, groups)
            reasons = groups.reasons(most)
            return reasons if raw is None else _placed(reasons, mail_places(_mail(raw), found, reasons))
        case _:
            for name, contribution in contributions:
                groups.add(wording_of_given(name), name, contribution)
    return groups.reasons(most)


def wording_of(name: str) -> str:
    """Return what a single feature means, whatever kind of input it came from."""
    for kind in KINDS:
        (reason,) = reasons_of(kind, None, [(name, 1.0)])
        if reason.text != name:
            return reason.text
    return wording_of_given(name)


def parts_of(kind: str, raw: str | bytes) -> dict[str, str]:
    """Return the parts of an input that places refer to, by their names."""
    return _mail(raw).texts if kind == "email" else {kind: _text(raw) or ""}


def _kind_of(contributions: Sequence[tuple[str, float]]) -> Kind | None:
    names = [name for name, _ in contributions]
    return next((kind for kind, mark in MARKS.items() if any(name.startswith(mark) for name in names)), None)


def _placed(reasons: list[Reason], places: dict[str, list[Place]]) -> list[Reason]:
    return [msgspec.structs.replace(each, places=sorted(places.get(each.text, ()))) for each in reasons]


def _text(raw: str | bytes | None) -> str | None:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw


def _mail(raw: str | bytes) -> MailParts:
    return mail_parts(raw.encode("utf-8", "replace") if isinstance(raw, str) else raw)
