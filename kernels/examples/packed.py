"""Examples as a log stores them: the shortest exact form of the values, and a check of what is read back."""

import numpy as np

from kernels.arrays import Floats, Keys
from kernels.compiler import kernel
from kernels.examples.canonical import LARGEST_VALUE

ONES, SINGLES, DOUBLES = range(3)
SOUND, KEY_0, VALUE_TOO_LARGE = range(3)


@kernel
def form_of(values: Floats) -> int:
    """ONES if all values are 1, SINGLES if all are exact in 32 bits, else DOUBLES."""
    form = ONES
    for value in values:
        if value != 1.0:
            if np.float64(np.float32(value)) != value:
                return DOUBLES
            form = SINGLES
    return form


@kernel
def flaw_in(keys: Keys, values: Floats) -> int:
    """Return SOUND, or what is invalid: no key is 0, and no value is NaN or larger than LARGEST_VALUE."""
    for key in keys:
        if key == np.uint64(0):
            return KEY_0
    for value in values:
        if not abs(value) <= LARGEST_VALUE:
            return VALUE_TOO_LARGE
    return SOUND
