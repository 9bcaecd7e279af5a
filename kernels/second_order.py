"""The diagonal of A^-1, as SSOL, CS-SSOL and AROW keep it."""

from kernels.arrays import Floats
from kernels.compiling import part


@part
def energy(inverse: Floats, x: Floats) -> float:
    """q = x' A^-1 x, summed in four lanes like `dot`."""
    a = b = c = d = 0.0
    whole = x.size - x.size % 4
    for k in range(0, whole, 4):
        a += inverse[k] * x[k] * x[k]
        b += inverse[k + 1] * x[k + 1] * x[k + 1]
        c += inverse[k + 2] * x[k + 2] * x[k + 2]
        d += inverse[k + 3] * x[k + 3] * x[k + 3]
    for k in range(whole, x.size):
        a += inverse[k] * x[k] * x[k]
    return (a + b) + (c + d)


@part
def take_in(inverse: Floats, x: Floats, q: float, r: float) -> None:
    """Bring x into the diagonal with the paper's shared denominator r + q.

    What the other features add to q is never taken below 0: for a large x the subtraction may cancel, and a factor of 0
    would kill the feature for ever.
    """
    share = 1.0 / (r + q)
    for k in range(x.size):
        inverse[k] *= (r + max(q - inverse[k] * x[k] * x[k], 0.0)) * share


@part
def take_in_alone(inverse: Floats, x: Floats, r: float) -> None:
    """Bring x into the diagonal, each coordinate with its own denominator."""
    for k in range(x.size):
        inverse[k] *= r / (r + inverse[k] * x[k] * x[k])
