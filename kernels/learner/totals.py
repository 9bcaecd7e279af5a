"""What a model keeps once, beside its table of features: a flat array with a named place for each number.

Everything before BITS is part of the model and of its digest; BITS and OUTCOME only say how it is kept and what the
last call did.
"""

import numpy as np

from kernels.arrays import Floats

STEP = 0  # examples learnt
POSITIVES = 1
NEGATIVES = 2
LAMBDA = 3  # the threshold found by the target sparsity
SCALE = 4  # what gathered state must be multiplied by: the product of all discounts since the last settling
GRAVITY = 5  # the sum of all shrinking so far; a row remembers the sum at its last touch
BIAS = 6  # b of PAUM
RADIUS = 7  # the largest squared norm seen, for PAUM
FEATURES = 8  # rows in use
DROPPED = 9  # features refused because the table was at its limit
BITS = 10  # the table has 2^BITS home slots
OUTCOME = 11
SIZE = 12

# Values of OUTCOME after a learning call.
UNCHANGED = 0.0  # learnt, but no weight had to move
UPDATED = 1.0
TABLE_FULL = -1.0  # nothing was learnt: the table must grow first, then the call must be repeated


def new_totals(bits: int) -> Floats:
    """Return the totals of a model that has learnt nothing, with a table of 2^bits home slots."""
    totals = np.zeros(SIZE)
    totals[SCALE] = 1.0
    totals[BITS] = bits
    return totals
