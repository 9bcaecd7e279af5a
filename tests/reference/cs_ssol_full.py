"""CS-SSOL with the full matrix: Cost-Sensitive Second Order Sparse Online Learning, Algorithm 6 of the paper."""

from .ssol_full import SsolFull


class CsSsolFull(SsolFull):
    """SSOL with the full matrix and a step of eta c; the costs do not enter A^-1."""

    knows_costs = True
