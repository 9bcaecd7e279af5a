"""CS-SSOL with the full matrix (Algorithm 7 of the paper, as it is written there)."""

from kernels.algorithms import ssol_full
from kernels.algorithms.ssol_full import DEFAULTS, FRESH, STATE, learn, score, scores, stream, survey

OPTIONS = ssol_full.OPTIONS | {"costs"}

__all__ = ["DEFAULTS", "FRESH", "OPTIONS", "STATE", "learn", "score", "scores", "stream", "survey"]
