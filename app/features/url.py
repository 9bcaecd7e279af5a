"""The features of a URL: readable names, each there or not."""

import re

LONGEST_URL = 2048  # characters; what comes after them is not looked at
SCHEME = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//")
WORD = re.compile(r"[^\W_]+")
NGRAM = 3


def url_features(url: str) -> list[str]:
    """Return the names of the features that the URL has, each once, in a fixed order; the scheme is not looked at."""
    host, path, query = _parts(url)
    names = [f"host:{label}" for label in host.split(".") if label]
    names += _domains(host)
    names += [f"path:{word}" for word in WORD.findall(path)]
    names += [f"query:{word}" for word in WORD.findall(query)]
    names += _ngrams(host)
    # bit_length is log2 in steps: 0, 1, 2-3, 4-7, 8-15...
    names += [
        f"len:host:{len(host).bit_length()}",
        f"len:path:{len(path).bit_length()}",
        f"len:query:{len(query).bit_length()}",
    ]
    return list(dict.fromkeys(names))


def _parts(url: str) -> tuple[str, str, str]:
    """Split into host, path and query, in lower case; user and port are dropped."""
    text = url[:LONGEST_URL]
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()  # a lone surrogate has no name in UTF-8
    text = text.lower()
    scheme = SCHEME.match(text)
    text = text[scheme.end() :] if scheme else text.lstrip()
    address, _, query = text.partition("?")
    authority, _, path = address.partition("/")
    host = authority.rpartition("@")[2].partition(":")[0]
    return host, path, query


def _domains(host: str) -> list[str]:
    labels = host.rsplit(".", 2)
    return [f"domain:{labels[-1]}", f"domain:{'.'.join(labels[-2:])}"]


def _ngrams(host: str) -> list[str]:
    return [f"host{NGRAM}:{host[k : k + NGRAM]}" for k in range(len(host) - NGRAM + 1)]
