"""Text into words, in any language: runs of letters and digits; where a script has no spaces, pairs of letters."""

import re
import unicodedata

LONGEST_WORD = 30
AT_ONCE = 1000  # characters; a long run of accents takes quadratic time to put in order
# Thai, Lao, Burmese, Khmer; kana, bopomofo, Chinese characters, hangul: written without spaces, or inflected within.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
UNSPACED_RUN = re.compile(f"[{UNSPACED}\U00020000-\U0003ffff]+")
PUNCTUATION = re.compile(r"[^\w\x00-\x7f]+")  # beyond ASCII
BEYOND_ASCII = bytes(range(0x80, 0x100))
WITHIN_WORDS = BEYOND_ASCII + b"abcdefghijklmnopqrstuvwxyz0123456789'$-"
# On UTF-8, where every byte of a letter beyond ASCII is 0x80 or above: several times as fast as a regular expression.
SPACES = bytes(byte if byte in WITHIN_WORDS else 0x20 for byte in range(256))


def words_of(text: str) -> list[str]:
    """The words in lower case, in order, repeated as they are."""
    plain = text.lower() if text.isascii() else _normal(text)
    words = plain.encode().translate(SPACES).decode().split()
    return [word[:LONGEST_WORD] for word in words] if max(map(len, words), default=0) > LONGEST_WORD else words


def _normal(text: str) -> str:
    """Wide and joined letters as usual ones, without punctuation, and with spaces between the pairs of letters."""
    pieces = [text[k : k + AT_ONCE] for k in range(0, len(text), AT_ONCE)]
    normal = "".join([unicodedata.normalize("NFKC", piece) for piece in pieces])
    return UNSPACED_RUN.sub(_pairs, PUNCTUATION.sub(" ", normal.lower()))


def _pairs(run: re.Match[str]) -> str:
    letters = run[0]
    pairs = [letters[k : k + 2] for k in range(len(letters) - 1)] or [letters]
    return f" {' '.join(pairs)} "
