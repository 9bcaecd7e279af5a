"""Who a mail says that it is from, and how its addresses agree with each other."""

import re

from app.features.email.headers import Headers
from app.features.email.shapes import domain_of, shape_of
from app.features.words import words_of

MOST_WORDS = 20
ADDRESS = re.compile(r"([^\s<>@,;:\"()]{1,64})@([A-Za-z0-9.-]{1,200})")
SENDERS = {"from": "from", "replyto": "reply-to", "path": "return-path", "sender": "sender"}


def sender_features(headers: Headers) -> list[str]:
    """What the senders' addresses tell."""
    names: list[str] = []
    domains: dict[str, str] = {}
    for role, header in SENDERS.items():
        value = headers.text(header)
        found = ADDRESS.findall(value)
        if found:
            domains[role] = domain_of(found[-1][1])
            names += _address(role, *found[-1])
        elif value:
            names.append(f"{role}:no-address")
    identity = ADDRESS.search(headers.raw("message-id"))
    if identity:
        domains["msgid"] = domain_of(identity[2])
    return [*names, *_agreement(domains), *_name(headers)]


def receiver_features(headers: Headers) -> list[str]:
    """How many receivers there are; not who: that is only this mailbox's business."""
    to = headers.raw("to")
    count = to.count("@") + headers.raw("cc").count("@")
    names = [f"to:count:{count.bit_length()}"]  # in steps: 0, 1, 2-3, 4-7...
    return names if "<" in to else [*names, "to:no-name"]


def _address(role: str, user: str, host: str) -> list[str]:
    host = host.lower()
    names = [f"{role}:domain:{domain_of(host)}"]
    if role in {"from", "path"}:
        names.append(f"{role}:tld:{host.rpartition('.')[2]}")
    if role == "from":
        names += [f"from:user:{user.lower()}", f"from:host:{host}", f"from:shape:{shape_of(user)}"]
    return names


def _agreement(domains: dict[str, str]) -> list[str]:
    """Whether the other addresses have the sender's domain."""
    sender = domains.pop("from", None)
    return [f"{role}:as-from" if domain == sender else f"{role}:not-from" for role, domain in domains.items()]


def _name(headers: Headers) -> list[str]:
    words = words_of(headers.text("from").rpartition("<")[0])[:MOST_WORDS]
    return [f"from:name:{word}" for word in words] or ["from:no-name"]
