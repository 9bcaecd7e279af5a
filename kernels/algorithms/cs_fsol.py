"""CS-FSOL: cost-sensitive first order sparse online learning (Algorithm 6 of the paper): FSOL whose step has a cost."""

from kernels.algorithms import fsol
from kernels.algorithms.fsol import DEFAULTS, FRESH, STATE, learn, score, scores, stream, survey

OPTIONS = fsol.OPTIONS | {"costs"}

__all__ = ["DEFAULTS", "FRESH", "OPTIONS", "STATE", "learn", "score", "scores", "stream", "survey"]
