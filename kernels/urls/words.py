"""Words, brands and n-grams."""

import numpy as np

from kernels.arrays import Bytes, Keys
from kernels.compiler import subroutine
from kernels.feature_hash import hash_name
from kernels.urls.characters import characters, is_word, next_character
from kernels.urls.pieces import BRANDED, Pieces, add

GRAM = 4  # characters
SHORTEST_BRAND = 3

PLAIN = np.uint64(0)
WILDCARD = np.uint64(0x5757575757575757)  # marks of the known words that are not plain suffixes
EXCEPTION = np.uint64(0x2121212121212121)
BRAND = np.uint64(0x4242424242424242)


@subroutine
def add_words(pieces: Pieces, prefix: int, text: Bytes, start: int, stop: int) -> None:
    """Add runs of letters and digits."""
    at = start
    while at < stop:
        while at < stop and not is_word(text[at]):
            at += 1
        begin = at
        while at < stop and is_word(text[at]):
            at += 1
        if at > begin:
            add(pieces, prefix, begin, at)


@subroutine
def add_brands(pieces: Pieces, text: Bytes, start: int, stop: int, known: Keys, name: int, name_stop: int) -> None:
    """Add the names of known brands, except the registered name of the host itself."""
    at = start
    while at < stop:
        while at < stop and not is_word(text[at]):
            at += 1
        begin = at
        while at < stop and is_word(text[at]):
            at += 1
        if (
            at - begin >= SHORTEST_BRAND
            and not (begin == name and at == name_stop)
            and is_known(text, begin, at, BRAND, known)
        ):
            add(pieces, BRANDED, begin, at)


@subroutine
def is_known(text: Bytes, start: int, stop: int, mark: np.uint64, known: Keys) -> bool:
    """Tell whether a slice of the text is a known word with this mark."""
    key = hash_name(text, start, stop) ^ mark
    slot = key & np.uint64(known.size - 1)
    while known[slot] != 0:
        if known[slot] == key:
            return True
        slot = (slot + np.uint64(1)) & np.uint64(known.size - 1)
    return False


@subroutine
def add_grams(pieces: Pieces, prefix: int, text: Bytes, start: int, stop: int) -> None:
    """Add every run of four characters."""
    end = start
    for _ in range(GRAM):
        end = next_character(text, end, stop)
    at, full = start, characters(text, start, end) == GRAM
    while full:
        add(pieces, prefix, at, end)
        full = end < stop
        at, end = next_character(text, at, stop), next_character(text, end, stop)
