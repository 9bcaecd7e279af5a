"""The diagonal of A^-1 of SSOL, CS-SSOL and AROW, in a row of `work`."""

from kernels.arrays import Floats
from kernels.compiler import inlined_no_refcount


@inlined_no_refcount
def quadratic_form(work: Floats, row: int, x: Floats) -> float:
    """q = x' A^-1 x, summed in four lanes like `dot`."""
    a = b = c = d = 0.0
    whole = x.size - x.size % 4
    for k in range(0, whole, 4):
        a += work[row, k] * x[k] * x[k]
        b += work[row, k + 1] * x[k + 1] * x[k + 1]
        c += work[row, k + 2] * x[k + 2] * x[k + 2]
        d += work[row, k + 3] * x[k + 3] * x[k + 3]
    for k in range(whole, x.size):
        a += work[row, k] * x[k] * x[k]
    return (a + b) + (c + d)


@inlined_no_refcount
def update_shared(work: Floats, row: int, x: Floats, q: float, r: float) -> None:
    """Add x to A with the paper's shared denominator r + q.

    The other features' part of q is at least 0: for a large x the subtraction may cancel, and a factor of 0 would
    disable the feature for ever.
    """
    share = 1.0 / (r + q)
    for k in range(x.size):
        work[row, k] *= (r + max(q - work[row, k] * x[k] * x[k], 0.0)) * share


@inlined_no_refcount
def update_alone(work: Floats, row: int, x: Floats, r: float) -> None:
    """Add x to A, each coordinate with its own denominator."""
    for k in range(x.size):
        work[row, k] *= r / (r + work[row, k] * x[k] * x[k])
