"""The origin of a mail: its addresses, whether they agree with each other, and the hosts in its Received lines."""

import re

from app.features.email.headers import Headers
from app.features.tokens import domain_of, shape_of, words_of

MOST_WORDS = 20
ADDRESS = re.compile(r"([^\s<>@,;:\"()]{1,64})@([A-Za-z0-9.-]{1,200})")
MOST_HOPS = 10
GREETING = re.compile(r"from\s{1,9}(\S{1,200})\s{0,9}(?:\(([^)]{0,200})\))?")
PROTOCOL = re.compile(r"\swith\s{1,9}(\w{1,20})")
IP = re.compile(r"\[?(\d{1,3}\.\d{1,3})(\.\d{1,3})\.\d{1,3}\]?")
SENDERS = {"from": "from", "replyto": "reply-to", "path": "return-path", "sender": "sender"}


def sender_features(headers: Headers) -> list[str]:
    """Return the features of the sender addresses."""
    names: list[str] = []
    domains: dict[str, str] = {}
    for role, header in SENDERS.items():
        value = headers.text(header)
        addresses = ADDRESS.findall(value)
        if addresses:
            domains[role] = domain_of(addresses[-1][1])
            names += _address(role, *addresses[-1])
        elif value:
            names.append(f"{role}:no-address")
    identity = ADDRESS.search(headers.raw("message-id"))
    if identity:
        domains["msgid"] = domain_of(identity[2])
    return [*names, *_agreement(domains), *_name(headers)]


def receiver_features(headers: Headers) -> list[str]:
    """Count the receivers. Who they are would identify the mailbox, not the mail."""
    to = headers.raw("to")
    count = to.count("@") + headers.raw("cc").count("@")
    names = [f"to:count:{count.bit_length()}"]  # in steps: 0, 1, 2-3, 4-7...
    return names if "<" in to else [*names, "to:no-name"]


def hop_features(headers: Headers) -> list[str]:
    """Count the hops; for each host, return the name it gave itself and what the next host saw of it."""
    hops = headers.all("received")[:MOST_HOPS]
    names = [f"rcvd:hops:{len(hops)}"]
    for hop in hops:
        greeting, protocol = GREETING.search(hop), PROTOCOL.search(hop)
        if greeting:
            names += _host(greeting[1].lower(), (greeting[2] or "").lower())
        if protocol:
            names.append(f"rcvd:with:{protocol[1].lower()}")
    return names


def _address(role: str, user: str, host: str) -> list[str]:
    host = host.lower()
    names = [f"{role}:domain:{domain_of(host)}"]
    if role in {"from", "path"}:
        names.append(f"{role}:tld:{host.rpartition('.')[2]}")
    if role == "from":
        names += [f"from:user:{user.lower()}", f"from:host:{host}", f"from:shape:{shape_of(user)}"]
    return names


def _agreement(domains: dict[str, str]) -> list[str]:
    """Compare the domains of the other addresses with the sender's."""
    sender = domains.pop("from", None)
    return [f"{role}:as-from" if domain == sender else f"{role}:not-from" for role, domain in domains.items()]


def _name(headers: Headers) -> list[str]:
    words = words_of(headers.text("from").rpartition("<")[0])[:MOST_WORDS]
    return [f"from:name:{word}" for word in words] or ["from:no-name"]


def _host(helo: str, seen: str) -> list[str]:
    names = ["rcvd:helo:ip" if IP.match(helo) else f"rcvd:from:{domain_of(helo)}"]
    if "." not in helo:
        names.append("rcvd:helo:no-dot")
    address = IP.search(seen) or IP.search(helo)
    if address:
        names += [f"rcvd:ip:{address[1]}", f"rcvd:ip:{address[1]}{address[2]}"]
    return names + _seen_name(helo, seen.partition(" ")[0].partition("[")[0])


def _seen_name(helo: str, known: str) -> list[str]:
    if not known:
        return ["rcvd:no-name"]
    name = f"rcvd:known:{domain_of(known)}"
    return [name] if known == helo else [name, "rcvd:helo:other-name"]
