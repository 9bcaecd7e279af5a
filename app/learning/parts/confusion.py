"""A confusion matrix and its rates."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Confusion:
    """A confusion matrix. Rates are None until they are defined: no observation is not a bad rate."""

    true_negatives: float
    false_positives: float
    false_negatives: float
    true_positives: float

    @property
    def examples(self) -> float:
        """All examples."""
        return self.positives + self.negatives

    @property
    def positives(self) -> float:
        """Examples labelled 1: T+ in the paper."""
        return self.true_positives + self.false_negatives

    @property
    def negatives(self) -> float:
        """Examples labelled -1: T- in the paper."""
        return self.true_negatives + self.false_positives

    @property
    def error(self) -> float | None:
        """Share of wrong verdicts."""
        return _ratio(self.false_positives + self.false_negatives, self.examples)

    @property
    def sensitivity(self) -> float | None:
        """Share of anomalies that were found."""
        return _ratio(self.true_positives, self.positives)

    @property
    def specificity(self) -> float | None:
        """Share of normal examples with a normal verdict."""
        return _ratio(self.true_negatives, self.negatives)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity; None until both classes have been seen."""
        return self.weighted_sum(0.5)

    @property
    def balanced_accuracy_margin(self) -> float | None:
        """Half the width of a 95% interval around the balanced accuracy, as if verdicts were independent."""
        sensitivity, specificity = self.sensitivity, self.specificity
        if sensitivity is None or specificity is None:
            return None
        found = sensitivity * (1.0 - sensitivity) / self.positives
        left = specificity * (1.0 - specificity) / self.negatives
        return 1.96 * 0.5 * math.sqrt(found + left)

    def weighted_sum(self, mu_positive: float) -> float | None:
        """Weight sensitivity and specificity as the paper's *sum* does: mu+ sensitivity + mu- specificity."""
        sensitivity, specificity = self.sensitivity, self.specificity
        if sensitivity is None or specificity is None:
            return None
        return mu_positive * sensitivity + (1.0 - mu_positive) * specificity


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
