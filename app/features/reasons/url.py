"""Reasons of a URL: n-grams belong to the words that they came from, words to the place that they have in it."""

from collections.abc import Iterable, Sequence

from app.features.reasons.given import wording_of_given
from app.features.reasons.owners import Owners, Words
from app.features.reasons.reason import Groups, quoted
from app.features.reasons.url_forms import FLAGS, wording_of_form
from app.features.reasons.url_layout import (
    DIRS,
    RUN,
    Layout,
    domain_wording,
    folder_wording,
    gram_wording,
    host_word,
    last_wording,
    parameter_wording,
    path_word,
    query_word,
    suffix_wording,
)

Contributions = Sequence[tuple[str, float]]
PREFIXES = {
    "host:": "host contains",
    "sub:": "subdomain",
    "name:": "domain name is",
    "path:": "path word",
    "file:": "last part of the path is",
    "query:": "query word",
    "fragment:": "word after the #:",
    "brand:": "URL contains",
    "dir0:": "folder",
    "dir1:": "folder",
    "dir2:": "folder",
    "dir3:": "folder",
    "dir4+:": "folder",
}


def group_url(url: str | None, contributions: Contributions, groups: Groups) -> None:
    """Group what the features of a URL contribute; without the URL, by their names alone."""
    exact: dict[str, int] | None = None
    if url is None:
        owners = _owners_of_names([name for name, _ in contributions])
    else:
        layout = Layout(url)
        owners, exact = layout.owners, layout.exact
    for name, contribution in contributions:
        if name not in owners:
            owners.own(name, _wording(name, exact))
        owners.share(groups, name, contribution)


def _wording(name: str, exact: dict[str, int] | None) -> str:
    """Return the reason for a feature that no word owns."""
    if (form := wording_of_form(name, exact)) is not None:
        return form
    prefix, _, rest = name.partition(":")
    if prefix in {"host4", "path4"}:
        return gram_wording(f"{prefix}:", rest)
    if prefix == "port" and rest:
        return f"port is {quoted(rest)[1:-1]}"
    if (start := PREFIXES.get(f"{prefix}:")) is not None:
        return f"{start} {quoted(rest)}"
    return wording_of_given(name)


def _owners_of_names(names: Sequence[str]) -> Owners:
    """Return the owners of features whose URL is not known."""
    owners, rests = Owners(), _by_prefix(names)
    domain = next(iter(rests.get("domain:", ())), "")
    _own_host(owners, rests, domain)
    _own_path(owners, rests, domain)
    return owners


def _by_prefix(names: Iterable[str]) -> dict[str, dict[str, None]]:
    rests: dict[str, dict[str, None]] = {}
    for name in names:
        prefix, colon, rest = name.partition(":")
        rests.setdefault(prefix + colon, {})[rest] = None
    return rests


def _own_host(owners: Owners, rests: dict[str, dict[str, None]], domain: str) -> None:
    if "ip" in rests.get("is:", ()):
        _own_address(owners, rests)
        return
    words, whole = Words(), domain_wording(domain)
    own_name = next(iter(rests.get("name:", ())), "")
    if domain:
        owners.own(f"domain:{domain}", whole)
        owners.own(f"name:{own_name}", whole)
    for label in {**rests.get("sub:", {}), **rests.get("host:", {})}:
        is_name = domain != "" and label == own_name
        if is_name:
            text = whole
        elif RUN.fullmatch(label):
            text = host_word(label, domain, alone=True)
        else:
            text = f"subdomain {quoted(label)}"
        owners.own(f"sub:{label}", text)
        owners.own(f"host:{label}", text)
        for run in RUN.findall(label):
            run_text = text if run == label else host_word(run, domain)
            words.add(run, run_text)
            if not (is_name and run == label):
                owners.own(f"brand:{run}", run_text)
    for suffix in rests.get("suffix:", ()):
        owners.own(f"suffix:{suffix}", suffix_wording(suffix))
        for run in RUN.findall(suffix):
            words.add(run, suffix_wording(suffix))
    _own_grams(owners, "host4:", rests.get("host4:", ()), words)


def _own_address(owners: Owners, rests: dict[str, dict[str, None]]) -> None:
    owners.own("is:ip", FLAGS["is:ip"])
    for prefix in ("host:", "host4:", "domain:", "name:", "suffix:"):
        for rest in rests.get(prefix, ()):
            owners.own(f"{prefix}{rest}", FLAGS["is:ip"])


def _own_path(owners: Owners, rests: dict[str, dict[str, None]], domain: str) -> None:
    words = Words()
    extensions = rests.get("ext:", {})
    for extension in extensions:
        owners.own(f"ext:{extension}", last_wording(f".{extension}"))
    for word in rests.get("path:", ()):
        text = last_wording(f".{word}") if word in extensions else path_word(word, domain)
        owners.own(f"path:{word}", text)
        owners.own(f"brand:{word}", text)
        words.add(word, text)
    for prefix in (*DIRS, "file:"):
        for part in rests.get(prefix, ()):
            is_last = part in rests.get("file:", ())
            wording = path_word(part, domain) if part in rests.get("path:", ()) else None
            owners.own(f"{prefix}{part}", wording or (last_wording(part) if is_last else folder_wording(part)))
    for name in rests.get("param:", ()):
        owners.own(f"param:{name}", parameter_wording(name))
    for word in rests.get("query:", ()):
        text = parameter_wording(word) if word in rests.get("param:", ()) else query_word(word)
        owners.own(f"query:{word}", text)
        owners.own(f"brand:{word}", text)
        words.add(word, text)
    _own_grams(owners, "path4:", rests.get("path4:", ()), words)


def _own_grams(owners: Owners, prefix: str, grams: Iterable[str], words: Words) -> None:
    for gram in grams:
        for text, weight in words.with_fragments(RUN.findall(gram)):
            owners.own(f"{prefix}{gram}", text, weight)
