"""Read a Python dict of feature names and numbers in one call, without creating Python objects.

Names are hashed in CPython's own UTF-8 buffers, and values are read in place. The functions of CPython's stable ABI are
resolved by name when the compiled code is loaded, so it can be cached on disk like any other kernel.
"""

import numpy as np
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic

from kernels.arrays import Floats, Keys
from kernels.compiler import kernel_with_gil
from kernels.examples.canonical import LARGEST_VALUE
from kernels.feature_hash import hash_name

ADDRESS = types.uintp
_next = types.ExternalFunction("PyDict_Next", types.intc(ADDRESS, ADDRESS, ADDRESS, ADDRESS))
_utf8 = types.ExternalFunction("PyUnicode_AsUTF8AndSize", ADDRESS(ADDRESS, ADDRESS))
_double = types.ExternalFunction("PyFloat_AsDouble", types.float64(ADDRESS))
_error = types.ExternalFunction("PyErr_Occurred", ADDRESS())
_clear = types.ExternalFunction("PyErr_Clear", types.void())

# Indices of the scratch array that CPython writes to.
POSITION, NAME, VALUE, LENGTH = range(4)
WORD = np.uintp(8)


@intrinsic
def _pointer(typing_context, address):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.uintp), generate


@kernel_with_gil
def read_dict(address: int, keys: Keys, values: Floats) -> int:
    """Fill keys and values from the dict at `address`, which the caller keeps alive; return how many.

    Return -1 if a name is not text or is empty, a value is not a finite number or too large, or the dict changed.
    """
    scratch = np.zeros(4, np.uintp)
    base = np.uintp(scratch.ctypes.data)
    count = 0
    while _next(np.uintp(address), base, base + NAME * WORD, base + VALUE * WORD) != 0:
        text = _utf8(scratch[NAME], base + LENGTH * WORD)
        if text == 0 or scratch[LENGTH] == 0 or count == keys.size:
            _clear()
            return -1
        number = _double(scratch[VALUE])
        if not abs(number) <= LARGEST_VALUE or (number == -1.0 and _error() != 0):
            _clear()
            return -1
        length = int(scratch[LENGTH])
        keys[count] = hash_name(carray(_pointer(text), (length,), np.uint8), 0, length)
        values[count] = number
        count += 1
    return count
