"""Reasons of an e-mail, and the parts of it that they point at."""

import re
from collections.abc import Sequence

import msgspec

from app.features.email.headers import Headers
from app.features.email.links import HOST_LIKE, LONGEST_LINK, MOST_LINKS
from app.features.email.message import parse_mail
from app.features.email.parts import file_name, read_parts
from app.features.reasons.email_texts import wording_of_header
from app.features.reasons.phrases import Phrases
from app.features.reasons.reason import MOST_PLACES, Groups, Place, Reason
from app.features.reasons.word_places import word_places
from app.features.tokens import domain_of, shape_of

ADDRESSES = {"from": "from", "replyto": "reply-to", "path": "return-path", "sender": "sender"}
LONGEST_HEADER = 2000  # characters
IN_LINKS = ("link:host:", "link:domain:", "link:path:", "link:query:", "link:mailto:", "link:scheme:")
NETWORKS = {"from:domain:": "from:host:", "link:domain:": "link:host:", "rcvd:ip:": "rcvd:ip:"}
PATH = re.compile(r"^(?:https?:)?/*[^/?]*/([^?]+)", re.IGNORECASE)
BETWEEN = "\n\n"  # two texts of the body


class MailParts(msgspec.Struct, frozen=True):
    """What a reader sees of an e-mail, by the names that places use, and its links: target and link text."""

    texts: dict[str, str]
    links: list[tuple[str, str]]


def mail_parts(raw: bytes) -> MailParts:
    """Return the decoded parts of a raw message; those that are empty are left out."""
    mail = parse_mail(raw)
    headers, contents = Headers(mail.head, []), read_parts(mail)
    texts = {name: headers.text(name)[:LONGEST_HEADER] for name in ADDRESSES.values()}
    texts["subject"] = headers.text("subject")[:LONGEST_HEADER]
    texts["body"] = BETWEEN.join(contents.texts)
    links = list(dict.fromkeys(contents.links[:MOST_LINKS]))
    targets = dict.fromkeys("".join(target[:LONGEST_LINK].split()) for target, _ in links)
    texts["links"] = "\n".join(target for target in targets if target)
    names = [file_name(f";{part.disposition}") or file_name(f";{part.content_type}") for part in mail.parts]
    texts["attachments"] = "\n".join(dict.fromkeys(" ".join(name.split()) for name in names if name))
    plain = {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
    return MailParts({name: text for name, text in plain.items() if text}, links)


def group_email(contributions: Sequence[tuple[str, float]], groups: Groups) -> list[Phrases]:
    """Group what the features of an e-mail contribute, by their names."""
    phrases = {"subj": Phrases("subject"), "body": Phrases("body")}
    wholes = _wholes([name for name, _ in contributions])
    for name, contribution in contributions:
        prefix, _, rest = name.partition(":")
        if prefix in phrases and rest:
            phrases[prefix].add(groups, name, rest, contribution)
        else:
            groups.add(wording_of_header(wholes.get(name, name)), name, contribution)
    for each in phrases.values():
        each.merge(groups)
    return list(phrases.values())


def _wholes(names: Sequence[str]) -> dict[str, str]:
    """Return the features whose reasons features of a part of the same thing share.

    A word of the mail program belongs to its name, a network to the only smaller one in it, and a domain to its only
    host.
    """
    mailers = sorted((name for name in names if name.startswith("mailer:")), key=lambda name: (-len(name), name))
    wholes = {name: next(each for each in mailers if name[7:] in each) for name in mailers}
    for prefix, smaller in NETWORKS.items():
        known: dict[str, list[str]] = {}
        for name in names:
            if name.startswith(smaller):
                known.setdefault(_parent(smaller, name[len(smaller) :]), []).append(name)
        wholes |= {f"{prefix}{rest}": hosts[0] for rest, hosts in known.items() if len(hosts) == 1}
    return wholes


def _parent(prefix: str, rest: str) -> str:
    """Return the domain of a host, or the larger network of a network."""
    return rest.rpartition(".")[0] if prefix == "rcvd:ip:" else domain_of(rest)


def mail_places(parts: MailParts, phrases: Sequence[Phrases], reasons: list[Reason]) -> dict[str, list[Place]]:
    """Return the places of reasons, by their texts."""
    found: dict[str, list[Place]] = {}
    for each, name in zip(phrases, ("subject", "body"), strict=True):
        found |= each.places(reasons, name, parts.texts.get(name, ""))
    lower = {name: _lower(text) for name, text in parts.texts.items()}
    for reason in reasons:
        places: list[Place] = []
        for feature in reason.features if reason.text not in found else ():
            places += _feature_places(feature, parts, lower)
        if places:
            found[reason.text] = list(dict.fromkeys(places))[:MOST_PLACES]
    return found


def _feature_places(feature: str, parts: MailParts, lower: dict[str, str]) -> list[Place]:
    """Return where a feature of a header, a link or an attachment is."""
    prefix, _, rest = feature.partition(":")
    value = rest.partition(":")[2]
    places: list[Place] = []
    if feature == "link:mismatch":
        places = _mismatches(parts, lower)
    elif feature.startswith("link:shape:"):
        places = _links_of_form(parts, value)
    elif feature.startswith(IN_LINKS):
        places = _find(lower, "links", value)
    elif prefix == "att" and not rest.startswith(("shape:", "size:", "no-extension")):
        places = _find(lower, "attachments", value if rest.startswith("name:") else f".{rest}")
    elif prefix in ADDRESSES and rest.startswith("name:"):
        places = word_places("from", parts.texts.get("from", ""), [value]).get(value, [])
    elif prefix in ADDRESSES and value and not rest.startswith("shape:"):
        places = _find(lower, ADDRESSES[prefix], value)[-1:]  # the address comes last
    return places


def _links_of_form(parts: MailParts, shape: str) -> list[Place]:
    """Return the paths of links that have a form."""
    start = 0
    places: list[Place] = []
    for target in parts.texts.get("links", "").split("\n"):
        path = PATH.search(target)
        if path and shape_of(path[1].lower()) == shape and len(places) < MOST_PLACES:
            places.append(Place("links", start + path.start(1), start + path.end(1)))
        start += len(target) + 1
    return places


def _find(lower: dict[str, str], name: str, value: str) -> list[Place]:
    text, at = lower.get(name, ""), -1
    places: list[Place] = []
    while value and len(places) < MOST_PLACES and (at := text.find(value, at + 1)) >= 0:
        places.append(Place(name, at, at + len(value)))
    return places


def _mismatches(parts: MailParts, lower: dict[str, str]) -> list[Place]:
    """Return the link texts that name another host than their target, where the body shows them."""
    places: list[Place] = []
    for target, text in parts.links:
        named = HOST_LIKE.match(text[:LONGEST_LINK])
        host = target.partition("//")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
        if named and domain_of(named[1]) != domain_of(host):
            places += _find(lower, "body", named[1].lower())[:1]
            places += _find(lower, "links", "".join(target[:LONGEST_LINK].split()).lower())[:1]
    return places


def _lower(text: str) -> str:
    """Return a text in lower case, where no letter becomes two, so that places stay."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(each.lower()[:1] for each in text)
