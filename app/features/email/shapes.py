"""Names that vary from mail to mail, brought to what many mails have in common."""

import re

LONGEST_SHAPE = 40
RUN = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")


def domain_of(host: str) -> str:
    """The last two labels of a host's name: about what was registered."""
    return ".".join(host.lower().strip(".").rsplit(".", 2)[-2:])


def shape_of(text: str) -> str:
    """The pattern of an identifier: a run of letters or digits becomes one of them, the rest stays."""
    return RUN.sub(_kind, " ".join(text[:100].split()))[:LONGEST_SHAPE]


def _kind(run: re.Match[str]) -> str:
    first = run[0][0]
    return "9" if first <= "9" else "A" if first <= "Z" else "a"
