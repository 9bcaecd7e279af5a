"""The machines that a mail came through, as its Received lines tell."""

import re

from app.features.email.headers import Headers
from app.features.email.shapes import domain_of

MOST_HOPS = 10
GREETING = re.compile(r"from\s{1,9}(\S{1,200})\s{0,9}(?:\(([^)]{0,200})\))?")
PROTOCOL = re.compile(r"\swith\s{1,9}(\w{1,20})")
IP = re.compile(r"\[?(\d{1,3}\.\d{1,3})(\.\d{1,3})\.\d{1,3}\]?")


def hop_features(headers: Headers) -> list[str]:
    """How many hops there were, and each machine: what it called itself, and what the next one saw of it."""
    hops = headers.all("received")[:MOST_HOPS]
    names = [f"rcvd:hops:{len(hops)}"]
    for hop in hops:
        greeting, protocol = GREETING.search(hop), PROTOCOL.search(hop)
        if greeting:
            names += _machine(greeting[1].lower(), (greeting[2] or "").lower())
        if protocol:
            names.append(f"rcvd:with:{protocol[1].lower()}")
    return names


def _machine(helo: str, seen: str) -> list[str]:
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
