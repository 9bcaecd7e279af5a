"""The layout of a URL: where its words are, and which features each of them owns."""

import re
from collections.abc import Iterator

from app.features.reasons.owners import GRAM, Owners
from app.features.reasons.reason import Place, quoted
from app.features.reasons.url_forms import FLAGS, part_of_shape, step_of
from app.features.url import DOTS, LONGEST_URL, url_features
from app.features.url_vocabulary import BRANDS

RUN = re.compile(r"[a-z0-9\x80-\U0010ffff]+")
BEGINNING = re.compile(r"[\x00-\x20]*(?:(?:[a-z][a-z0-9+.-]*:)?//)?")
PORT = re.compile(r":([0-9]*)\Z")
ENCODED = re.compile(r"%[0-9a-f]{2}")
LONGEST_NAME = 40  # bytes of the text in the name of a feature
LONGEST_EXTENSION = 10  # bytes
DIRS = ("dir0:", "dir1:", "dir2:", "dir3:", "dir4+:")
# Words in the list of brands that are no names: those that phishing uses to look serious.
WORDS = """
account bank banking confirm credit live login office post secure security signin support update verification verify
wallet webmail webscr
""".split()  # noqa: SIM905 - easier to read than a list literal
NAMES = frozenset(BRANDS) - frozenset(WORDS)
Span = tuple[int, int]


def domain_wording(domain: str) -> str:
    """Return the reason for the registered domain."""
    return f"domain is {quoted(domain)}"


def suffix_wording(suffix: str) -> str:
    """Return the reason for the public suffix."""
    return f"domain ends in {quoted('.' + suffix)}" if suffix else "domain has no public ending"


def host_word(word: str, domain: str, *, alone: bool = False) -> str:
    """Return the reason for a word of the host; `alone` if it is a whole subdomain."""
    if word in NAMES and domain:
        return f"host looks like {quoted(word)} but its domain is {quoted(domain)}"
    return f"{'subdomain' if alone else 'host contains'} {quoted(word)}"


def path_word(word: str, domain: str) -> str:
    """Return the reason for a word of the path."""
    if word in NAMES and domain and not domain.startswith(f"{word}."):
        return f"path names {quoted(word)} but the domain is {quoted(domain)}"
    return f"path word {quoted(word)}"


def folder_wording(part: str) -> str:
    """Return the reason for a part of the path that is not its last."""
    return f"folder {quoted(part)}"


def last_wording(part: str) -> str:
    """Return the reason for the last part of the path, or for its extension, which begins with its dot."""
    if part.startswith("."):
        return f"file name ends in {quoted(part)}"
    return f"file name {quoted(part)}" if "." in part else f"path ends in {quoted(part)}"


def parameter_wording(name: str) -> str:
    """Return the reason for the name of a parameter."""
    return f"query parameter {quoted(name)}" if name else "query parameter without a name"


def query_word(word: str) -> str:
    """Return the reason for a word of the query."""
    return f"query word {quoted(word)}"


def gram_wording(prefix: str, gram: str) -> str:
    """Return the reason for an n-gram that lies in no word; `^` and `$` mark the ends of the host."""
    if prefix == "host4:":
        return f"host contains {quoted(gram.strip('^$'))}"
    return f"path contains {quoted(gram)}"


class Layout:
    """The reasons of one URL, the features that they own, and exact numbers by the prefixes of features."""

    def __init__(self, url: str) -> None:
        visible = url[:LONGEST_URL].encode("utf-8", "replace").decode().translate(DOTS)
        self._text = visible.lower()
        self._origins = [k for k, letter in enumerate(visible) for _ in letter.lower()]  # in the URL as it was given
        self._words: list[str | None] = [None] * len(self._text)  # the reason that a character belongs to
        self.owners = Owners()
        self.exact: dict[str, int] = {}
        self._read(url)

    def _read(self, url: str) -> None:
        text, size = self._text, len(self._text)
        found = BEGINNING.match(text)
        start = found.end() if (found := BEGINNING.match(text)) else 0
        authority = _first(text, "/?#", start)
        path = _first(text, "?#", authority)
        query = _first(text, "#", path)
        self._read_host(start, authority, list(url_features(url).example.names))
        self._read_path(min(authority + 1, path), path)
        self._read_query(min(path + 1, query), query)
        self._own_grams("path4:", text[authority:query], authority)
        for begin, end in self._runs(query, size):
            self._own(f"word {quoted(text[begin:end])} after the #", (begin, end), "fragment:")
        self.exact |= {"len:url:": size - start, "percent:": text.count("%", authority)}

    def _read_host(self, start: int, stop: int, names: list[str]) -> None:
        text = self._text
        host = max(text.rfind("@", start, stop) + 1, start)
        end = stop - len(port[0]) if (port := PORT.search(text[host:stop])) else stop
        end = host + len(text[host:end].rstrip("."))
        if host > start:
            self._own(FLAGS["is:userinfo"], (start, host - 1), covers=False)
            self.owners.own("is:userinfo", FLAGS["is:userinfo"])
            for begin, stop_at in self._runs(start, host):
                self.owners.own(f"brand:{text[begin:stop_at]}", FLAGS["is:userinfo"])
        first = dict(reversed([(name.partition(":")[0], name.partition(":")[2]) for name in names]))
        name = self._label_start(host, end, first.get("domain", ""))
        suffix = self._label_start(name, end, first["suffix"]) if first.get("suffix") else end
        name_stop = end if suffix == end else max(suffix - 1, host)
        self._domain = text[name:end]
        is_address = "is:ip" in names
        whole = "host is an IP address" if is_address else domain_wording(self._domain)
        self._own(whole, (name, end), "domain:", covers=is_address)
        self.owners.own(f"name:{clip(text[name:name_stop])}", whole)
        if is_address:
            self.owners.own("is:ip", whole)
        if suffix < end:
            self._own(suffix_wording(text[suffix:end]), (suffix, end), "suffix:")
            for begin, stop_at in self._runs(suffix, end):
                self.owners.own(f"brand:{text[begin:stop_at]}", suffix_wording(text[suffix:end]))
        else:
            self.owners.own("suffix:", "host is an IP address" if is_address else suffix_wording(""))
        if not is_address:
            self._read_labels(host, name, name_stop, whole)
        else:
            for at, stop_at in self._split(host, name_stop, "."):
                self.owners.own(f"host:{clip(text[at:stop_at])}", whole)
        self._own_grams("host4:", f"^{text[host:end]}$", host - 1)
        own = text[name:name_stop]
        self.exact |= {
            "len:host:": end - host, "len:name:": len(own), "digits:host:": digits_in(text[host:end]),
            "digits:name:": digits_in(own), "hyphens:host:": text.count("-", host, end),
        }  # fmt: skip

    def _read_labels(self, host: int, name: int, name_stop: int, whole: str) -> None:
        text, at, subs = self._text, host, 0
        while at < name_stop:
            stop = name_stop if (dot := text.find(".", at, name_stop)) < 0 else dot
            label, runs, is_name = text[at:stop], list(self._runs(at, stop)), at >= name
            is_word = runs == [(at, stop)]
            if is_name:
                label_text = whole
            elif is_word:
                label_text = host_word(label, self._domain, alone=True)
            else:
                label_text = f"subdomain {quoted(label)}"
            if label:
                self._own(label_text, (at, stop), "host:", *(() if is_name else ("sub:",)), covers=is_word)
                subs += not is_name
            for begin, end in () if is_word else runs:
                word = text[begin:end]
                self._own(host_word(word, self._domain), (begin, end), "brand:")
            if is_word and not is_name:
                self.owners.own(f"brand:{label}", label_text)
            at = stop + 1
        self.exact["subs:"] = subs

    def _read_path(self, begin: int, stop: int) -> None:
        text = self._text
        parts = list(self._split(begin, stop, "/"))
        filled = [(at, end) for at, end in parts if end > at]
        extension = stop
        if filled:
            at, end = filled[-1]
            dot = text.rfind(".", at, end)
            if dot >= 0 and len(text[dot + 1 : end].encode()) <= LONGEST_EXTENSION:
                extension = dot + 1
                self._own(last_wording(text[dot:end]), (dot + 1, end), "ext:")
        for at, end in self._runs(begin, stop):
            is_extension = at == extension and filled[-1][1] == end
            wording = last_wording(text[at - 1 : end]) if is_extension else path_word(text[at:end], self._domain)
            self._own_word(self._encoded("path", at, end), wording, (at, end), "path:")
        for depth, (at, end) in enumerate(parts):
            if end > at:
                is_last = (at, end) == filled[-1]
                is_word = RUN.fullmatch(text, at, end) is not None
                wording = path_word(text[at:end], self._domain) if is_word else ""
                wording = wording or (last_wording(text[at:end]) if is_last else folder_wording(text[at:end]))
                self._own(wording, (at, end), DIRS[min(depth, 4)], *(("file:",) if is_last else ()), covers=False)
        self._own_shapes(filled)
        path = text[begin:stop]
        self.exact |= {
            "depth:": len(parts), "len:path:": stop - begin, "digits:path:": digits_in(path),
            "hyphens:path:": path.count("-"), "underscores:path:": path.count("_"), "dots:path:": path.count("."),
        }  # fmt: skip

    def _own_shapes(self, parts: list[Span]) -> None:
        by_shape: dict[str, list[Span]] = {}
        for at, end in parts:
            part = self._text[at:end]
            digits, others = digits_in(part), len(RUN.sub("", part))
            kinds = "a" * (digits + others < len(part)) + "d" * (digits > 0) + "." * (others > 0)
            by_shape.setdefault(f"{kinds}{step_of(len(part.encode()))}", []).append((at, end))
        for shape, spans in by_shape.items():
            lengths = [end - at for at, end in spans]
            kinds = shape.rstrip("0123456789")
            text = part_of_shape(kinds, min(lengths), max(lengths), len(spans))
            for span in spans:
                self._own(text, span, covers=False)
            self.owners.own(f"shape:{shape}", text)

    def _read_query(self, begin: int, stop: int) -> None:
        text, names = self._text, {}
        count = 0
        for at, end in self._split(begin, stop, "&"):
            equals = _first(text, "=", at, end)
            names[at, equals] = wording = parameter_wording(text[at:equals])
            self._own(wording, (at, equals), "param:", covers=False)
            count += 1
        for span in self._runs(begin, stop):
            encoded = None if span in names else self._encoded("query", *span)
            self._own_word(encoded, names.get(span) or query_word(text[slice(*span)]), span, "query:")
        self.exact |= {"params:": count, "len:query:": stop - begin}

    def _own_word(self, encoded: str | None, wording: str, span: Span, prefix: str) -> None:
        self._own(encoded or wording, span, prefix, "brand:", before=encoded is not None)

    def _encoded(self, where: str, start: int, stop: int) -> str | None:
        """Return the reason for a word that begins with an encoded character, such as %2f."""
        if start == 0 or ENCODED.match(self._text, start - 1) is None:
            return None
        return f"{where} contains {quoted(self._text[start - 1 : stop])}"

    def _own_grams(self, prefix: str, text: str, start: int) -> None:
        """Share n-grams among the words that they lie in, by the number of characters; `text` begins at `start`."""
        marked = int(prefix == "host4:")
        first, last = start + marked, start + len(text) - marked
        for k in range(len(text) - GRAM + 1):
            gram = f"{prefix}{text[k : k + GRAM]}"
            found = False
            for at in range(max(start + k, first), min(start + k + GRAM, last)):
                if (owner := self._words[at]) is not None:
                    self.owners.own(gram, owner)
                    found = True
            if not found:
                letters = text[k : k + GRAM]
                wording = gram_wording(prefix, letters)
                self._own(wording, (max(start + k, first), min(start + k + GRAM, last)), covers=False)
                self.owners.own(gram, wording)

    def _own(self, wording: str, span: Span, *prefixes: str, covers: bool = True, before: bool = False) -> None:
        """Give a reason its place, the features with these prefixes, and the characters there if it `covers` them.

        The place may begin one character `before`.
        """
        start, stop = span
        for prefix in prefixes:
            self.owners.own(f"{prefix}{clip(self._text[start:stop])}", wording)
        if covers:
            self._words[start:stop] = [wording] * (stop - start)
        if stop > start:
            self.owners.place(wording, Place("url", self._origins[start - before], self._origins[stop - 1] + 1))

    def _label_start(self, start: int, stop: int, rest: str) -> int:
        """Return where the rest of a host begins that a feature names."""
        at = stop
        while at > start:
            at = max(self._text.rfind(".", start, at - 1) + 1, start)
            if clip(self._text[at:stop]) == rest:
                return at
        return start

    def _runs(self, start: int, stop: int) -> Iterator[Span]:
        return (run.span() for run in RUN.finditer(self._text, start, stop))

    def _split(self, start: int, stop: int, mark: str) -> Iterator[Span]:
        at = start
        while at < stop:
            end = _first(self._text, mark, at, stop)
            yield at, end
            at = end + 1


def clip(text: str) -> str:
    """Return what a feature's name has of a text."""
    return text.encode()[:LONGEST_NAME].decode(errors="ignore")


def digits_in(text: str) -> int:
    """Return the number of ASCII digits."""
    return sum("0" <= letter <= "9" for letter in text)


def _first(text: str, marks: str, start: int, stop: int | None = None) -> int:
    """Return where one of the marks occurs first, or the end."""
    end = len(text) if stop is None else stop
    return min((at for mark in marks if (at := text.find(mark, start, end)) >= 0), default=end)
