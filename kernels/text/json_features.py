"""Features as JSON text, `{"token:free": 1, "len": 0.4}`, read in one call: names are hashed in place.

The kernel handles the usual cases and gives up on everything else: an escape in a name, a value that is not a number, a
name that may occur twice, any error. The caller then parses the text with the slow parser, which reports errors.

The last byte must be a closing brace. So every other byte is followed by one, and only inside names, which may contain
braces, must the end of the text be checked. Positions are unsigned, which spares Numba the check for negative ones.
"""

import numpy as np

from kernels.arrays import Bytes, Floats, Ints, Keys
from kernels.compiler import inlined, kernel
from kernels.examples.canonical import LARGEST_VALUE
from kernels.feature_hash import hash_name, word_at
from kernels.text.bits import trailing_zeros
from kernels.text.numbers import EXACT, MINUS, NINE, NONE, ONE, POINT, ZERO, read_number

UNUSUAL = -1
TAB, NEWLINE, RETURN, SPACE = 9, 10, 13, 32
QUOTE, COMMA, COLON, BACKSLASH, OPEN, CLOSE = 34, 44, 58, 92, 123, 125
SHORTEST_FEATURE = 6  # bytes: "a":1,
HALF_WORD = np.uint64(32)  # a span is a name's start in the upper half and its end in the lower

EIGHT = np.uint64(8)
EACH = np.uint64(0x0101010101010101)
UPPER = np.uint64(0x8080808080808080)
QUOTES = EACH * np.uint64(QUOTE)
BACKSLASHES = EACH * np.uint64(BACKSLASH)
SPACES = EACH * np.uint64(SPACE)
CONTINUED, CONTINUED_END = 0x80, 0xC0


@kernel
def read_features(text: Bytes, keys: Keys, values: Floats, spans: Keys) -> int:
    """Fill keys, values and the spans of the names; return how many features there are, or UNUSUAL.

    There must be room for as many as fit into the text. Equal keys are UNUSUAL.
    """
    return _read(text, keys, values, spans)


@kernel
def read_many(text: Bytes, ends: Ints, keys: Keys, values: Floats, starts: Ints) -> bool:
    """Read concatenated texts, which end at `ends`, each as `read_features` does, into CSR form.

    Return False if one is unusual or does not end with a closing brace; the arrays are then undefined.
    """
    spans = np.empty(keys.size, np.uint64)
    begin = at = 0
    starts[0] = 0
    for i in range(ends.size):
        end = ends[i]
        if end == begin or text[end - 1] != CLOSE:
            return False
        count = _read(text[begin:end], keys[at:], values[at:], spans)
        if count == UNUSUAL:
            return False
        begin = end
        at += count
        starts[i + 1] = at
    return True


@inlined
def _read(text: Bytes, keys: Keys, values: Floats, spans: Keys) -> int:
    at = _skip_blanks(text, NONE)
    if text[at] != OPEN:
        return UNUSUAL
    at = _skip_blanks(text, at + ONE)
    count = 0
    while text[at] == QUOTE:
        start = at + ONE
        stop, at = _read_name(text, start)
        if stop == NONE:
            return UNUSUAL
        value, at = _read_value(text, at)
        if at == NONE:
            return UNUSUAL
        keys[count], values[count] = hash_name(text, start, stop), value
        spans[count] = start << HALF_WORD | stop
        count += 1
        at = _skip_blanks(text, at)
        if text[at] != COMMA:
            break
        at = _skip_blanks(text, at + ONE)
        if text[at] == CLOSE:
            return UNUSUAL
    if text[at] != CLOSE or at + ONE != np.uint64(text.size) or _may_repeat(keys[:count]):
        return UNUSUAL
    return count


@inlined
def _skip_blanks(text: Bytes, at: np.uint64) -> np.uint64:
    byte = text[at]
    while byte <= SPACE and (byte == SPACE or byte == NEWLINE or byte == RETURN or byte == TAB):  # noqa: PLR1714, SIM109 - no tuples here
        at += ONE
        byte = text[at]
    return at


@inlined
def _read_name(text: Bytes, start: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return where the name at `start` ends (0 if it is unusual), and where its value begins."""
    stop = _end_of_name(text, start)
    if stop <= start:
        return NONE, start
    at = _skip_blanks(text, stop + ONE)
    if text[at] != COLON:
        return NONE, start
    return stop, _skip_blanks(text, at + ONE)


@inlined
def _read_value(text: Bytes, at: np.uint64) -> tuple[float, np.uint64]:
    """Return the number at `at`, and where it ends (0 if it is unusual)."""
    if not _is_json_number(text, at):
        return 0.0, NONE
    kind, value, end = read_number(text, at)
    return value, end if kind == EXACT and abs(value) <= LARGEST_VALUE else NONE


@inlined
def _end_of_name(text: Bytes, at: np.uint64) -> np.uint64:
    """Return where the closing quote is; 0 if it is missing or the name is unusual."""
    size = np.uint64(text.size)
    while at < size:
        if at + EIGHT <= size:
            found = _special(word_at(text, at))
            if found == NONE:
                at += EIGHT
                continue
            at += trailing_zeros(found) >> np.uint64(3)
        byte = text[at]
        if byte == QUOTE:
            return at
        if byte == BACKSLASH or byte < SPACE:
            return NONE
        length = ONE if byte < CONTINUED else _utf8_length(text, at)
        if length == NONE:
            return NONE
        at += length
    return NONE


@inlined
def _special(word: np.uint64) -> np.uint64:
    """Mark the bytes of a word that are quotes, backslashes, control characters or not ASCII.

    A borrow can mark a byte by mistake, but only above a correct mark: the lowest mark is correct.
    """
    quotes, backslashes = word ^ QUOTES, word ^ BACKSLASHES
    found = ((quotes - EACH) & ~quotes) | ((backslashes - EACH) & ~backslashes) | ((word - SPACES) & ~word) | word
    return found & UPPER


@inlined
def _utf8_length(text: Bytes, at: np.uint64) -> np.uint64:
    """Return the length in bytes of the non-ASCII character at `at`; 0 if it is not valid UTF-8."""
    first, second = text[at], text[at + ONE]
    if not CONTINUED <= second < CONTINUED_END or first < 0xC2 or first > 0xF4:  # noqa: PLR2004
        return NONE
    if first < 0xE0:  # noqa: PLR2004
        return np.uint64(2)
    third = text[at + np.uint64(2)]
    if not CONTINUED <= third < CONTINUED_END:
        return NONE
    if first < 0xF0:  # noqa: PLR2004
        long = first != 0xE0 or second >= 0xA0  # noqa: PLR2004 - else it would fit in two bytes
        return np.uint64(3) if long and (first != 0xED or second < 0xA0) else NONE  # noqa: PLR2004 - else a surrogate
    if not CONTINUED <= text[at + np.uint64(3)] < CONTINUED_END:
        return NONE
    long = first != 0xF0 or second >= 0x90  # noqa: PLR2004 - else it would fit in three bytes
    return np.uint64(4) if long and (first != 0xF4 or second < 0x90) else NONE  # noqa: PLR2004 - else beyond Unicode


@inlined
def _is_json_number(text: Bytes, at: np.uint64) -> bool:
    """Reject what `read_number` accepts and JSON does not: a plus, a leading zero, a point without digits around it."""
    if text[at] == MINUS:
        at += ONE
    if not _is_digit(text[at]) or (text[at] == ZERO and _is_digit(text[at + ONE])):
        return False
    while _is_digit(text[at]):
        at += ONE
    return text[at] != POINT or _is_digit(text[at + ONE])


@inlined
def _is_digit(byte: int) -> bool:
    return bool(np.uint64(byte) - ZERO <= NINE)


@inlined
def _may_repeat(keys: Keys) -> bool:
    """Tell whether two keys are equal, or so many crafted keys collide that a full check would take too long."""
    bits = 1
    while (1 << bits) < 2 * keys.size:
        bits += 1
    seen = np.zeros(1 << bits, np.uint64)
    mask = np.uint64(seen.size - 1)
    steps = EIGHT * EIGHT + EIGHT * np.uint64(keys.size)
    for key in keys:
        slot = key & mask
        while seen[slot] != NONE:
            steps -= ONE
            if seen[slot] == key or steps == NONE:
                return True
            slot = (slot + ONE) & mask
        seen[slot] = key
    return False
