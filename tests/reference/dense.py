"""What all reference learners share: the example, the counts, the costs, lambda_t and the target sparsity.

Everything is a dense float64 vector and every step touches every coordinate, so that the code can be compared with
the formulas. It is slow, and for tests only.
"""

import math
from collections.abc import Mapping
from copy import deepcopy
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Config = Mapping[str, float | str | bool | None]

TARGET_INTERVAL = 1024


class Reference:
    """One learner; a subclass defines its state, how w is computed from it, and how it learns."""

    knows_costs: ClassVar[bool] = False
    imbalance_halved: ClassVar[float] = 10.0

    def __init__(self, config: Config, dimension: int) -> None:
        """Store the options, and start without examples."""
        self.config = dict(config)
        self.target = None if config["target_sparsity"] is None else self._number("target_sparsity")
        self.size = dimension + bool(config["bias"])
        self.t = 0
        self.positives = 0
        self.negatives = 0
        self.seen = np.zeros(self.size, dtype=np.bool_)
        self.target_lambda = 0.0

    def score(self, x: Floats) -> float:
        """Score x as the next example; by definition what learning it would report, whatever the label."""
        return deepcopy(self).learn(x, 1)

    def learn(self, x: Floats, label: int) -> float:
        """Test, then train; return the score from before learning."""
        self.t += 1
        self.positives += label == 1
        self.negatives += label == -1
        example = self._prepared(x)
        self._forget()
        self._receive(example)
        score = self._predict(example)
        self._update(example, label, score)
        if self.target is not None and is_target_moment(self.t):
            self._retarget(self.target)
        return score

    def weights(self) -> Floats:
        """Return w over all coordinates with lambda_T, T the last example learnt; the bias comes last."""
        return self._w().copy() if self.t > 0 else np.zeros(self.size)

    def _w(self) -> Floats:
        """Return the weights that a prediction uses."""
        raise NotImplementedError

    def _update(self, x: Floats, label: int, score: float) -> None:
        """Learn the prepared example, which has this score."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Discount the state by gamma."""

    def _receive(self, x: Floats) -> None:
        """Update the second order with x, before the prediction."""

    def _predict(self, x: Floats) -> float:
        return float(self._w() @ x)

    def _sizes(self) -> Floats | None:
        """Return what lambda is compared with; None if the algorithm has no lambda."""
        return None

    def _hit_target(self, size: float) -> None:
        """Make weights of this size, and smaller ones, zero: dual averaging thresholds with it from now on."""
        self.target_lambda = size

    def _loses(self, label: int, score: float) -> bool:
        """L: whether the hinge loss is greater than 0."""
        return max(0.0, 1.0 - label * score) > 0.0

    def _cost(self, label: int) -> float:
        """c: the cost of the label's class."""
        if not self.knows_costs:
            return 1.0
        if self.config["costs"] == "given":
            return self._number("cost_positive" if label == 1 else "cost_negative")
        mu = self._number("mu_positive")
        rho = mu / (1.0 - mu) * _moderated(self.negatives + 1, self.positives + 1, self.imbalance_halved)
        return math.sqrt(rho) if label == 1 else 1.0 / math.sqrt(rho)

    def _lambda_t(self) -> float:
        if self.target is not None:
            return self.target_lambda
        factors = {
            "constant": 1.0,
            "eta": self._eta,
            "inverse_t": 1.0 / self.t,
            "sqrt_t": math.sqrt(self.t),
            "linear": float(self.t),
        }
        return self._number("lambda") * factors[str(self.config["lambda_schedule"])]

    def _prepared(self, x: Floats) -> Floats:
        """Normalise, append the bias, and note which features have been seen."""
        example = np.array(x, dtype=np.float64)
        present = example != 0.0
        norm = math.hypot(*example)
        if self.config["normalize"] == "l2" and norm > 0.0:
            example = example / norm
        if self.config["bias"]:
            example = np.append(example, 1.0)
            present = np.append(present, np.True_)
        self.seen |= present
        return example

    def _retarget(self, share: float) -> None:
        sizes = self._sizes()
        if sizes is None or not self.seen.any():
            return
        ordered = np.sort(sizes[self.seen])
        self._hit_target(float(ordered[math.ceil(share * ordered.size) - 1]))

    @property
    def _eta(self) -> float:
        return self._number("eta")

    @property
    def _r(self) -> float:
        return self._number("r")

    @property
    def _delta(self) -> float:
        return self._number("delta")

    @property
    def _gamma(self) -> float:
        return 1.0 - self._number("forgetting")

    def _number(self, name: str) -> float:
        value = self.config[name]
        assert isinstance(value, int | float), f"{name} is not a number: {value!r}"
        return float(value)


def soft(a: Floats, b: Floats | float) -> Floats:
    """Return sign(a) max(|a| - b, 0)."""
    return np.sign(a) * np.maximum(np.abs(a) - b, 0.0)


def quotient(a: Floats, b: Floats) -> Floats:
    """Return a / b, and 0 where b is 0: with delta = 0, where G is 0."""
    return np.divide(a, b, out=np.zeros_like(b), where=b != 0.0)


def is_target_moment(t: int) -> bool:
    """Return whether t is a power of two up to 1,024 or a multiple of 1,024."""
    return t % TARGET_INTERVAL == 0 or t in {2**k for k in range(11)}


def _moderated(negatives: int, positives: int, halved: float) -> float:
    """Return the ratio of the classes, reduced if it is small."""
    beyond = max(negatives, positives) / min(negatives, positives) - 1.0
    rho = 1.0 + beyond**2 / (beyond + halved)
    return rho if negatives > positives else 1.0 / rho
