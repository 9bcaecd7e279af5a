"""The numbers that a model keeps once, beside its table of features: a flat array, and the index of each.

Those before BITS are part of the model and of its digest. BITS describes the table, and OUTCOME the last call.
"""

import numpy as np

from kernels.arrays import Floats

STEP = 0  # examples learnt
POSITIVES = 1
NEGATIVES = 2
LAMBDA = 3  # the threshold found by the target sparsity
SCALE = 4  # the factor of all stored sums: the product of the discounts since the rows were last rescaled
GRAVITY = 5  # the sum of all shrinking so far; a row stores the sum at its last update
BIAS = 6  # b of PAUM
RADIUS = 7  # the largest squared norm so far, for PAUM
LATELY, BEFORE = 6, 7  # of CS-SOL: the share of wrong signs over a short and a long time, minus 1/2
FEATURES = 8  # rows in use
DROPPED = 9  # new features refused because the table was at its limit
BITS = 10  # the table has 2^BITS home slots
OUTCOME = 11
SIZE = 12

# Values of OUTCOME after a learning call.
UNCHANGED = 0.0  # learnt, but no weight changed
UPDATED = 1.0
TABLE_FULL = -1.0  # nothing was learnt: grow the table, then repeat the call


def new_totals(bits: int) -> Floats:
    """Return the totals of an untrained model with a table of 2^bits home slots."""
    totals = np.zeros(SIZE)
    totals[SCALE] = 1.0
    totals[BITS] = bits
    return totals
