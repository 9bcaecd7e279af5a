"""Skill: whether verdicts are better than chance, by the error rates that the drift detectors keep."""

import math

from kernels.arrays import Ints
from kernels.compiler import kernel
from kernels.evaluation.drift import ANOMALY, ERRORS, LABELS, NORMAL, SEEN

LEAST_LABELS = 30  # of each class, before verdicts are judged
SURE = 1.64  # standard errors above chance: of twenty models without any skill, one passes

UNKNOWN, NO_SKILL, SKILL = 0, 1, 2


@kernel
def skill(detectors: Ints) -> int:
    """Judge the verdicts since about the last change of the error rates.

    Sensitivity and specificity must together be above 1, which any verdicts reach that do not depend on the input, by
    more than chance explains. Each rate is taken as if there had been one right and one wrong verdict more.
    """
    if min(detectors[NORMAL, SEEN], detectors[ANOMALY, SEEN]) < LEAST_LABELS:
        return UNKNOWN
    above, variance = 1.0, 0.0
    for c in (NORMAL, ANOMALY):
        labels = detectors[c, LABELS] + 2.0
        wrong = (detectors[c, ERRORS] + 1.0) / labels
        above -= wrong
        variance += wrong * (1.0 - wrong) / labels
    return SKILL if above > SURE * math.sqrt(variance) else NO_SKILL
