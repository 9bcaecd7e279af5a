"""The features of a host, with the public suffix list."""

from kernels.arrays import Bytes, Keys
from kernels.compiler import inlined, subroutine
from kernels.urls.characters import (
    AT,
    BEYOND_ASCII,
    CLOSE,
    COLON,
    DOT,
    HYPHEN,
    LOWER_A,
    LOWER_Z,
    NINE,
    OPEN,
    ZERO,
    after_last,
    count,
    digits,
    entropy,
    find_byte,
    step,
)
from kernels.urls.pieces import (
    DIGITS_HOST,
    DIGITS_NAME,
    DOMAIN,
    ENTROPY_NAME,
    HOST,
    HOST_GRAM,
    HYPHENS_HOST,
    IS_IP,
    IS_MIXED,
    IS_PUNYCODE,
    IS_USERINFO,
    LENGTH_HOST,
    LENGTH_NAME,
    NAME,
    PORT,
    SUB,
    SUBS,
    SUFFIX,
    Pieces,
    add,
    add_count,
    add_flag,
    add_number,
)
from kernels.urls.words import EXCEPTION, PLAIN, WILDCARD, add_grams, is_known

DEEPEST_SUFFIX = 6  # labels of the longest suffix in the list
BEGINNING, END = 94, 36  # ^ and $, around the host
LETTER_X, LETTER_N = 120, 110
XN = 4  # bytes of xn--


@subroutine
def read_host(pieces: Pieces, text: Bytes, start: int, stop: int, size: int, known: Keys) -> tuple[int, int]:
    """Add the features of everything before the path; return where the registered name is."""
    host = after_last(text, start, stop, AT)
    if host > start:
        add_flag(pieces, IS_USERINFO)
    end = _before_port(text, host, stop)
    if end < stop - 1:
        add(pieces, PORT, end + 1, stop)
    while end > host and text[end - 1] == DOT:
        end -= 1
    if _is_address(text, host, end):
        name, suffix = host, end
        add_flag(pieces, IS_IP)
    else:
        suffix = _suffix(text, host, end, known)
        name = after_last(text, host, max(suffix - 1, host), DOT)
    name_stop = end if suffix == end else max(suffix - 1, host)
    _name(pieces, text, host, end, name, name_stop, suffix)
    _labels(pieces, text, host, name, name_stop)
    _marked_grams(pieces, text, host, end, size)
    return name, name_stop


@subroutine
def _name(pieces: Pieces, text: Bytes, host: int, end: int, name: int, name_stop: int, suffix: int) -> None:
    add(pieces, NAME, name, name_stop)
    add(pieces, DOMAIN, name, end)
    add(pieces, SUFFIX, suffix, end)
    add_number(pieces, LENGTH_HOST, step(end - host))
    add_number(pieces, LENGTH_NAME, min(name_stop - name, 30))
    add_count(pieces, DIGITS_HOST, step(digits(text, host, end)))
    add_count(pieces, DIGITS_NAME, step(digits(text, name, name_stop)))
    add_count(pieces, HYPHENS_HOST, min(count(text, host, end, HYPHEN), 6))
    add_number(pieces, ENTROPY_NAME, entropy(pieces.letters, text, name, name_stop))


@subroutine
def _labels(pieces: Pieces, text: Bytes, host: int, name: int, name_stop: int) -> None:
    """Add each label up to the registered name."""
    at, subs = host, 0
    while at < name_stop:
        stop = find_byte(text, at, name_stop, DOT)
        if stop > at:
            add(pieces, HOST, at, stop)
            _script(pieces, text, at, stop)
            if at < name:
                add(pieces, SUB, at, stop)
                subs += 1
        at = stop + 1
    add_number(pieces, SUBS, min(subs, 6))


@subroutine
def _script(pieces: Pieces, text: Bytes, start: int, stop: int) -> None:
    """Flag labels with letters of several scripts, which may imitate another label."""
    ascii_letters = others = 0
    for k in range(start, stop):
        ascii_letters += LOWER_A <= text[k] <= LOWER_Z
        others += text[k] >= BEYOND_ASCII
    if stop - start > XN and text[start] == LETTER_X and text[start + 1] == LETTER_N and text[start + 2] == HYPHEN:
        add_flag(pieces, IS_PUNYCODE)
        others = 1
        ascii_letters = count(text, start + XN, stop, HYPHEN)  # the ASCII letters come before the last hyphen
    if ascii_letters > 0 and others > 0:
        add_flag(pieces, IS_MIXED)


@inlined
def _marked_grams(pieces: Pieces, text: Bytes, start: int, stop: int, size: int) -> None:
    """Add the grams of ^host$, which is written after the text."""
    end = size + stop - start + 2
    text[size], text[end - 1] = BEGINNING, END
    for k in range(start, stop):
        text[size + 1 + k - start] = text[k]
    add_grams(pieces, HOST_GRAM, text, size, end)


@subroutine
def _suffix(text: Bytes, start: int, stop: int, known: Keys) -> int:
    """Return where the public suffix of a host begins; `stop` if none is known."""
    best = parent = limit = stop
    for _ in range(DEEPEST_SUFFIX):
        at = after_last(text, start, limit, DOT)
        if is_known(text, at, stop, EXCEPTION, known):
            return parent
        if is_known(text, at, stop, PLAIN, known) or (parent < stop and is_known(text, parent, stop, WILDCARD, known)):
            best = at
        if at == start:
            break
        parent, limit = at, at - 1
    return best


@inlined
def _is_address(text: Bytes, start: int, stop: int) -> bool:
    """Tell whether a host is an IPv4 or IPv6 address."""
    digits = 0
    for k in range(start, stop):
        if ZERO <= text[k] <= NINE:
            digits += 1
        elif text[k] != DOT:
            return text[start] == OPEN and text[stop - 1] == CLOSE
    return digits > 0


@inlined
def _before_port(text: Bytes, start: int, stop: int) -> int:
    """Return where a host ends: before its last colon, if only digits follow."""
    at = stop
    while at > start and ZERO <= text[at - 1] <= NINE:
        at -= 1
    return at - 1 if at > start and text[at - 1] == COLON else stop
