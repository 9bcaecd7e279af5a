"""The score and the weight of algorithms that keep w itself, as the first state of a row."""

from kernels.arrays import Floats
from kernels.compiler import inlined_no_refcount
from kernels.learner.algorithm import FeatureWeight
from kernels.learner.maths import dot

W = 0  # row of `work`


@inlined_no_refcount
def score(work: Floats, totals: Floats, x: Floats, scale: float, lambda_t: float, settings: Floats) -> float:
    """w.x."""
    return dot(work, W, x)


@inlined_no_refcount
def weigh(rows: Floats, dense: Floats, at: int, totals: Floats, lambda_t: float, settings: Floats) -> FeatureWeight:
    """Weight, size and evidence of the row that begins at `at`: w, |w|, |w|."""
    return rows[at + 1], abs(rows[at + 1]), abs(rows[at + 1])
