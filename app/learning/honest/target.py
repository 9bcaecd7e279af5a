"""Objectives and targets as settings: which values they may have, and what they imply for the threshold."""

from collections.abc import Mapping

from app.learning.errors import BadSetting, short_repr
from kernels.evaluation.calibration import OBJECTIVES
from kernels.evaluation.curve import TARGETS

Value = float | str | bool | None
SHARE = ("a number from 0.000001 to 0.999999", 1e-6, 1.0 - 1e-6)
RANGES = dict.fromkeys(TARGETS[1:4], SHARE) | {TARGETS[4]: ("a number from 0.01 to 1e9", 0.01, 1e9)}


def settle_objective(values: dict[str, Value], given: Mapping[str, Value]) -> None:
    """Give a learnt threshold its objective; BadSetting if objective, threshold and costs do not fit together."""
    if values["threshold"] == "auto" and values["objective"] is None:
        if "objective" in given:
            raise BadSetting("threshold is 'auto', which needs an objective: 'balanced', 'error' or 'cost'")
        values["objective"] = OBJECTIVES[0]
    if values["objective"] == "cost" and values.get("costs") != "given":
        raise BadSetting("objective is 'cost', which needs cost_positive and cost_negative: set them as well")


def check_target(values: Mapping[str, Value]) -> None:
    """Raise BadSetting if target, its value and the threshold do not fit together."""
    name, value = values["target"], values["target_value"]
    if (name is None) != (value is None):
        raise BadSetting("target and target_value must be set together: what the threshold follows, and its value")
    if name is None:
        return
    if values["threshold"] != "auto":
        raise BadSetting(
            f"threshold is {values['threshold']} and target is {name!r}, but a target determines the threshold: "
            "set threshold to 'auto', or target to null"
        )
    expected, low, high = RANGES[str(name)]
    if not isinstance(value, int | float) or not low <= value <= high:
        raise BadSetting(f"target {name} is {short_repr(value)}; it must be {expected}")


def implied_by_target(changes: Mapping[str, Value]) -> dict[str, Value]:
    """Return what follows from a target, or its end: it needs a learnt threshold, and a number as threshold ends it."""
    if changes.get("target") is not None:
        return {"threshold": "auto"}
    if changes.get("threshold", "auto") != "auto" or "target" in changes:
        return {"target": None, "target_value": None}
    return {}
