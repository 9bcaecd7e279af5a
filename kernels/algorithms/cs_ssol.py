"""CS-SSOL: cost-sensitive second order sparse online learning, diagonal (Algorithm 7 of the paper).

SSOL whose step has a cost; costs do not enter A.
"""

from kernels.algorithms import ssol
from kernels.algorithms.ssol import DEFAULTS, FRESH, STATE, learn, score, scores, stream, survey

OPTIONS = ssol.OPTIONS | {"costs"}

__all__ = ["DEFAULTS", "FRESH", "OPTIONS", "STATE", "learn", "score", "scores", "stream", "survey"]
