"""The URL features of docs/features.md, slowly: by tldextract, regular expressions and logarithms."""

import math
import re
from collections import Counter

import tldextract

from app.features.url_vocabulary import BRANDS

EXTRACT = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
RULES = {*EXTRACT.tlds, *(rule.encode("idna").decode() for rule in EXTRACT.tlds if not rule.isascii())}
SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//")
WORD = re.compile(r"[a-z0-9\u0080-\U0010ffff]+")
STEPS = sorted({0, 1, 2, 3, *(1 << k for k in range(2, 30)), *(3 << k for k in range(1, 30))})
NOTHING = re.compile(r"(digits:.*|hyphens:.*|underscores:path|dots:path|params):0")  # not worth a feature
Pairs = list[tuple[str, float]]


def features(url: str) -> dict[str, float]:
    """Names and values, in the order in which the kernel finds them."""
    if not url.strip():
        return {}
    text = (
        url[:2048].translate(str.maketrans("\u3002\uff0e\uff61\\", ".../")).lower().encode("utf-8", "replace").decode()
    )
    blanks = len(text) - len(text.lstrip("".join(map(chr, range(33)))))
    scheme = SCHEME.match(text, blanks)
    text = text[scheme.end() if scheme else blanks :]
    match = re.fullmatch(r"([^/?#]*)(/?[^?#]*)(\??[^#]*)(#?.*)", text, re.DOTALL)
    assert match
    authority, path, query, fragment = match.groups()
    name, found = _host(authority)
    found += _path(path) + _query(query)
    found += [(f"path4:{gram}", 1.0) for gram in _grams(path + query)]
    found += [(f"fragment:{_cut(word)}", 1.0) for word in WORD.findall(fragment)]
    found += _brands(authority + path + query, name)
    found += [(f"len:url:{_step(_size(text))}", 0.5)]
    if percents := (path + query + fragment).count("%"):
        found += [(f"percent:{_step(percents)}", 0.5)]
    return {name: value for name, value in found if not NOTHING.fullmatch(name)}


def _host(authority: str) -> tuple[tuple[int, int], Pairs]:
    user, at, host = authority.rpartition("@")
    found: Pairs = [("is:userinfo", 0.5)] if at else []
    if port := re.search(r":([0-9]*)$", host):
        host = host[: port.start()]
        found += [(f"port:{_cut(port[1])}", 1.0)] if port[1] else []
    host = host.rstrip(".")
    is_address = bool(re.fullmatch(r"[0-9.]*[0-9][0-9.]*", host)) or (host[:1] == "[" and host[-1:] == "]")
    if is_address:
        found += [("is:ip", 0.5)]
    suffix = "" if is_address else _suffix(host)
    before = host if not suffix else host[: -len(suffix) - 1] if len(suffix) < len(host) else ""
    name = before if is_address else before.rpartition(".")[2]
    domain = f"{name}.{suffix}" if suffix and suffix != host else name or suffix
    found += [(f"name:{_cut(name)}", 1.0), (f"domain:{_cut(domain)}", 1.0), (f"suffix:{_cut(suffix)}", 1.0)]
    found += _shapes(host, name)
    found += _labels(before, is_address=is_address)
    found += [(f"host4:{gram}", 1.0) for gram in _grams(f"^{host}$")]
    start = len(user) + len(at) + len(before) - len(name)
    return (start, start + len(name)), found


def _suffix(host: str) -> str:
    """By the rules of the public suffix list: an exception counts, else the longest match."""
    labels = host.split(".")
    best = ""
    for count in range(1, min(len(labels), 6) + 1):
        tail, parent = ".".join(labels[-count:]), ".".join(labels[-count + 1 :])
        if f"!{tail}" in RULES:
            return parent
        if tail in RULES or (count > 1 and f"*.{parent}" in RULES):
            best = tail
    return best


def _shapes(host: str, name: str) -> Pairs:
    return [
        (f"len:host:{_step(_size(host))}", 0.5),
        (f"len:name:{min(_size(name), 30)}", 0.5),
        (f"digits:host:{_step(_digits(host))}", 0.5),
        (f"digits:name:{_step(_digits(name))}", 0.5),
        (f"hyphens:host:{min(host.count('-'), 6)}", 0.5),
        (f"entropy:name:{_entropy(name)}", 0.5),
    ]


def _labels(before: str, *, is_address: bool) -> Pairs:
    found: Pairs = []
    subs = 0
    for place, label in reversed(list(enumerate(reversed(before.split("."))))):
        if label:
            found += [(f"host:{_cut(label)}", 1.0), *_script(label)]
            if place > 0 and not is_address:
                found += [(f"sub:{_cut(label)}", 1.0)]
                subs += 1
    return [*found, (f"subs:{min(subs, 6)}", 0.5)]


def _script(label: str) -> Pairs:
    if label.startswith("xn-") and _size(label) > 4:
        mixed = "-" in label.encode()[4:].decode("utf-8", "replace")
        return [("is:punycode", 0.5)] + ([("is:mixed-scripts", 0.5)] if mixed else [])
    mixed = bool(re.search("[a-z]", label)) and not label.isascii()
    return [("is:mixed-scripts", 0.5)] if mixed else []


def _path(path: str) -> Pairs:
    inside = path[1:]
    segments = inside.split("/")
    if segments[-1] == "":
        segments.pop()
    found: Pairs = []
    for depth, segment in enumerate(segments):
        if segment:
            place = str(depth) if depth < 4 else "4+"
            found += [(f"dir{place}:{_cut(segment)}", 1.0), (f"shape:{_shape(segment)}", 0.5)]
        else:
            found += [("is:double-slash", 0.5)]
    found += [("is:folder", 0.5)] if inside.endswith("/") else []
    if full := [segment for segment in segments if segment]:
        found += [(f"file:{_cut(full[-1])}", 1.0), (f"entropy:file:{_entropy(full[-1])}", 0.5)]
        _, dot, extension = full[-1].rpartition(".")
        found += [(f"ext:{extension}", 0.5)] if dot and _size(extension) <= 10 else []
    found += [(f"path:{_cut(word)}", 1.0) for word in WORD.findall(inside)]
    return [
        *found,
        (f"depth:{min(len(segments), 12)}", 0.5),
        (f"len:path:{_step(_size(inside))}", 0.5),
        (f"digits:path:{_step(_digits(inside))}", 0.5),
        (f"hyphens:path:{_step(inside.count('-'))}", 0.5),
        (f"underscores:path:{_step(inside.count('_'))}", 0.5),
        (f"dots:path:{min(inside.count('.'), 6)}", 0.5),
    ]


def _query(query: str) -> Pairs:
    inside = query[1:]
    parameters = inside.split("&")
    if parameters[-1] == "":
        parameters.pop()
    found: Pairs = [(f"len:query:{_step(_size(inside))}", 0.5)]
    found += [(f"query:{_cut(word)}", 1.0) for word in WORD.findall(inside)]
    found += [(f"param:{_cut(each.partition('=')[0])}", 1.0) for each in parameters]
    return [*found, (f"params:{min(len(parameters), 8)}", 0.5)]


def _brands(text: str, name: tuple[int, int]) -> Pairs:
    words = [match for match in WORD.finditer(text) if match.span() != name]
    return [(f"brand:{match[0]}", 0.5) for match in words if match[0] in BRANDS]


def _grams(text: str) -> list[str]:
    return [text[k : k + 4] for k in range(len(text) - 3)]


def _shape(segment: str) -> str:
    digits = _digits(segment)
    letters = sum(len(word) for word in WORD.findall(segment)) - digits
    others = len(segment) - digits - letters
    return f"{'a' * bool(letters)}{'d' * bool(digits)}{'.' * bool(others)}{_step(_size(segment))}"


def _entropy(text: str) -> int:
    data = text.encode()[:256]
    if not data:
        return 0
    bits = sum(-n / len(data) * math.log2(n / len(data)) for n in Counter(data).values())
    return math.floor(2 * bits + 0.5 + 1e-9)


def _digits(text: str) -> int:
    return len(re.findall("[0-9]", text))


def _size(text: str) -> int:
    return len(text.encode())


def _step(number: int) -> int:
    return max(step for step in STEPS if step <= number)


def _cut(text: str) -> str:
    return text.encode()[:40].decode("utf-8", "ignore")
