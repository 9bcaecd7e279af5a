"""CS-FSOL: Cost-Sensitive First Order Sparse Online Learning, Algorithm 5 of the paper."""

from .fsol import Fsol


class CsFsol(Fsol):
    """FSOL with a step of eta c."""

    knows_costs = True
