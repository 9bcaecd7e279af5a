"""CS-SSOL: the diagonal variant of Cost-Sensitive Second Order Sparse Online Learning, Algorithm 6 of the paper."""

from .ssol import Ssol


class CsSsol(Ssol):
    """SSOL with a step of eta c; the costs do not enter A^-1."""

    knows_costs = True
