"""Tokens of a text: its words in any language, the shape of an identifier, and the domain of a host.

Words are runs of letters and digits. Scripts without spaces between words give pairs of letters.
"""

import re
import unicodedata

LONGEST_WORD = 30
LONGEST_SHAPE = 40
RUN = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
NORMALISED_CHARACTERS = 1000  # at a time: normalising a long run of accents takes quadratic time
# Thai, Lao, Burmese, Khmer; kana, bopomofo, Chinese characters, hangul: without spaces, or inflected within.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
UNSPACED_RUN = re.compile(f"[{UNSPACED}\U00020000-\U0003ffff]+")
PUNCTUATION = re.compile(r"[^\w\x00-\x7f]+")  # beyond ASCII
BEYOND_ASCII = bytes(range(0x80, 0x100))
WITHIN_WORDS = BEYOND_ASCII + b"abcdefghijklmnopqrstuvwxyz0123456789'$-"
# Translates UTF-8, where every byte of a letter beyond ASCII is 0x80 or above: several times faster than a regular
# expression.
SPACES = bytes(byte if byte in WITHIN_WORDS else 0x20 for byte in range(256))


def words_of(text: str) -> list[str]:
    """Return the words in lower case, in order, with repetitions."""
    plain = text.lower() if text.isascii() else _normalise(text)
    words = plain.encode().translate(SPACES).decode().split()
    return [word[:LONGEST_WORD] for word in words] if max(map(len, words), default=0) > LONGEST_WORD else words


def domain_of(host: str) -> str:
    """Return the last two labels of a host name: about the registered domain."""
    return ".".join(host.lower().strip(".").rsplit(".", 2)[-2:])


def shape_of(text: str) -> str:
    """Return the pattern of an identifier: a run of letters or digits becomes one character, the rest stays."""
    return RUN.sub(_run_kind, " ".join(text[:100].split()))[:LONGEST_SHAPE]


def _normalise(text: str) -> str:
    """Apply NFKC, drop punctuation, and put spaces between the pairs of letters of unspaced scripts."""
    pieces = [text[k : k + NORMALISED_CHARACTERS] for k in range(0, len(text), NORMALISED_CHARACTERS)]
    normal = "".join([unicodedata.normalize("NFKC", piece) for piece in pieces])
    return UNSPACED_RUN.sub(_pairs, PUNCTUATION.sub(" ", normal.lower()))


def _pairs(run: re.Match[str]) -> str:
    letters = run[0]
    pairs = [letters[k : k + 2] for k in range(len(letters) - 1)] or [letters]
    return f" {' '.join(pairs)} "


def _run_kind(run: re.Match[str]) -> str:
    first = run[0][0]
    return "9" if first <= "9" else "A" if first <= "Z" else "a"
