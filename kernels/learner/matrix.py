"""The full matrix A^-1 of SSOL, beside the table: `dense[0]` is theta, and row i + 1 of `dense` is row i of A^-1.

A row of the table holds the feature's number in the matrix, and `index` the numbers of an example's features. A feature
without a number (-1) is a coordinate of its own: theta is 0, and A^-1 has 1 on the diagonal.
"""

import numpy as np

from kernels.arrays import Floats, Keys
from kernels.compiler import inlined
from kernels.learner.maths import soft
from kernels.learner.totals import FEATURES
from kernels.table.rows import FIRST

WIDTH = 2  # of a row in the table: key and number


@inlined
def number_new(rows: Floats, totals: Floats, slots: Keys, index: Floats, count: int) -> None:
    """Give the features that have just got a row the next numbers."""
    sink = np.uint64(rows.size) - np.uint64(WIDTH)
    following = totals[FEATURES]
    for k in range(count):
        following -= 1.0 if slots[k] != sink and index[k] < 0.0 else 0.0
    for k in range(count):
        if slots[k] != sink and index[k] < 0.0:
            index[k] = rows[slots[k] + FIRST] = following
            following += 1.0


@inlined
def multiply(dense: Floats, index: Floats, x: Floats, product: Floats) -> float:
    """Leave A^-1 x in `product`; return x' A^-1 x."""
    for k in range(x.size):
        if index[k] >= 0.0:
            row = dense[1 + int(index[k])]
            for j in range(product.size):
                product[j] += row[j] * x[k]
    result = 0.0
    for k in range(x.size):
        result += (product[int(index[k])] if index[k] >= 0.0 else x[k]) * x[k]
    return result


@inlined
def update(dense: Floats, index: Floats, x: Floats, product: Floats, share: float, r: float) -> None:
    """Add x to A in Joseph's form: A^-1 becomes (I - k x') A^-1 (I - k x')' + r k k', with the gain k = share A^-1 x.

    In exact arithmetic the second half adds 0; it keeps a large value from cancelling a feature's variance to 0.
    """
    outside = 0.0
    for k in range(x.size):
        outside += x[k] * x[k] if index[k] < 0.0 else 0.0
    for i in range(product.size):
        gain, row = product[i] * share, dense[1 + i]
        for j in range(product.size):
            row[j] -= gain * product[j]
        rest = gain * (r + outside)
        for k in range(x.size):
            if index[k] >= 0.0:
                rest -= row[int(index[k])] * x[k]
        for j in range(product.size):
            row[j] += rest * (product[j] * share)


@inlined
def dot_theta(row: Floats, dense: Floats, size: int, threshold: float) -> float:
    """row.soft(theta, threshold) in one chain: the zeros of coordinates that are added later change no bit."""
    result, theta = 0.0, dense[0]
    if threshold == 0.0:  # the usual case, and faster
        for j in range(size):
            result += row[j] * theta[j]
        return result
    for j in range(size):
        result += row[j] * soft(theta[j], threshold)
    return result
