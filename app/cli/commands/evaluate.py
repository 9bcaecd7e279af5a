"""`sluice evaluate`: test-then-train over a file, with one algorithm or several side by side."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from app.cli.curve_picture import show_target, svg
from app.cli.options import (
    DEFAULT_ALGORITHM,
    add_settings,
    add_source,
    algorithm_name,
    given_settings,
    settings_for,
    shared_settings,
)
from app.cli.output import percent, print_json, print_table, print_text
from app.cli.reliability import Reliability
from app.cli.single_pass import Learner, Pass, run
from app.learning.config import Value
from app.learning.errors import BadSetting
from app.learning.state import TenantState
from app.learning.summary import summarise

HEADS: Final = ("algorithm", "error", "balanced", "±", "sens.", "spec.", "sparsity", "features", "examples/s")
TARGET_OPTIONS: Final = {"fpr": "false_positive_rate", "sensitivity": "sensitivity", "precision": "precision"}
NOTE: Final = (
    "Rates are in percent. Every example is scored before its label is learnt. Balanced: mean of sensitivity and "
    "specificity; ± is half of its 95% interval. Sparsity: share of features with weight 0. Examples/s: the learner "
    "alone, without reading the file."
)


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = "Score every example before learning its label, and print how accurate the verdicts are."
    add_source(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--algorithm", type=algorithm_name, default=DEFAULT_ALGORITHM, help=f"default: {DEFAULT_ALGORITHM}"
    )
    which.add_argument(
        "--compare", type=lambda text: [algorithm_name(name) for name in text.split(",")], metavar="A,B,...",
        help="several algorithms in one pass over the file",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--plot", nargs="?", const="", type=str, metavar="FILE.svg",
        help="show how reliable the probabilities are, and draw it to a file if one is given; with one algorithm",
    )  # fmt: skip
    parser.add_argument(
        "--curve", type=str, metavar="FILE.svg",
        help="draw the rates at every threshold, and show those at the threshold; with one algorithm",
    )  # fmt: skip
    targets = parser.add_mutually_exclusive_group()
    for option, name in TARGET_OPTIONS.items():
        targets.add_argument(
            f"--target-{option}", dest=f"target_{name}", type=float, metavar="X",
            help=f"let the threshold follow this {name.replace('_', ' ')}",
        )  # fmt: skip
    add_settings(parser)
    parser.set_defaults(run=evaluate)


def evaluate(chosen: Namespace) -> None:
    """Run the command."""
    given = given_settings(chosen) | _target(chosen)
    settings = shared_settings(chosen.compare, given) if chosen.compare else [settings_for(chosen.algorithm, given)]
    if chosen.plot is not None and len(settings) > 1:
        raise BadSetting("--plot shows one algorithm: use --algorithm instead of --compare")
    if chosen.curve is not None and len(settings) > 1:
        raise BadSetting("--curve shows one algorithm: use --algorithm instead of --compare")
    learners = [Learner(TenantState(each), reliability=_reliability(chosen)) for each in settings]
    seen = run(chosen, learners)
    results = [summarise(learner.state) | {"seconds": learner.seconds} for learner in learners]
    if chosen.json:
        print_json(_summary(chosen, seen) | {"results": results})
    else:
        _print_results(chosen, seen, results)
    _plot(chosen, learners[0])
    _draw_curve(chosen, learners)


def _target(chosen: Namespace) -> dict[str, Value]:
    """Return the settings of a target, if one is given."""
    given = {name: getattr(chosen, f"target_{name}") for name in TARGET_OPTIONS.values()}
    return next(({"target": name, "target_value": value} for name, value in given.items() if value is not None), {})


def _draw_curve(chosen: Namespace, learners: Sequence[Learner]) -> None:
    """Show the rates at the threshold, and draw those at all thresholds, if that is wanted."""
    for learner in learners:
        if not chosen.json and (chosen.curve is not None or learner.state.config.values["target"] is not None):
            show_target(learner.state)
    if chosen.curve is not None:
        picture = svg(learners[0].state)
        if picture is None:
            raise BadSetting("--curve needs scores: use it with threshold auto, an objective or a target")
        Path(chosen.curve).write_text(picture, encoding="utf-8")


def _reliability(chosen: Namespace) -> Reliability | None:
    return None if chosen.plot is None else Reliability()


def _plot(chosen: Namespace, learner: Learner) -> None:
    """Show the reliability of the probabilities, and draw it if a file is given."""
    if learner.reliability is None:
        return
    name = str(learner.state.config.values["algorithm"])
    if not chosen.json:
        learner.reliability.show(name)
    if chosen.plot:
        Path(chosen.plot).write_text(learner.reliability.svg(name), encoding="utf-8")


def _summary(chosen: Namespace, seen: Pass) -> dict[str, Any]:
    return {
        "file": chosen.file,
        "examples": seen.examples,
        "nonzeros": seen.nonzeros,
        "sorted_by_label": seen.is_sorted_by_label,
        "skipped_lines": seen.skipped,
        "seconds": seen.seconds,
    }


def _print_results(chosen: Namespace, seen: Pass, results: list[dict[str, Any]]) -> None:
    first = results[0]
    classes = f"{first['positives']:,} anomalies and {first['negatives']:,} normal"
    length = f"{seen.nonzeros / max(seen.examples, 1):.1f} features each"
    print_text(f"{chosen.file}: {seen.examples:,} examples, {classes}, {length}", "")
    print_table(HEADS, [_cells(result) for result in results])
    share = first["positives"] / first["examples"] if first["examples"] else None
    baseline = f"The verdict normal for all would have an error of {percent(share)}% and a balanced accuracy of 50%."
    print_text("", NOTE, baseline, *_warnings(seen, results))


def _warnings(seen: Pass, results: list[dict[str, Any]]) -> list[str]:
    """Reasons why the figures mean less than they seem to."""
    lines = [
        f"{each['algorithm']} dropped new features {each['dropped_features']:,} times: it was at its limit of "
        f"{each['config']['max_features']:,}."
        for each in results
        if each["dropped_features"]
    ]
    lines += [
        f"{each['algorithm']}: {' '.join([each['health'].detail, *each['health'].suggestions])}"
        for each in results
        if each["health"].status == "poor"
    ]
    if seen.is_sorted_by_label:
        lines.append(
            f"The file is sorted by label: the label changes only {seen.changes:,} times from one example to the next. "
            "The order alone predicts most labels, so these figures mean little. Try --shuffle 1."
        )
    return lines


def _cells(result: dict[str, Any]) -> list[str]:
    return [
        result["algorithm"],
        percent(result["error"]),
        percent(result["balanced_accuracy"]),
        percent(result["balanced_accuracy_margin"]),
        percent(result["sensitivity"]),
        percent(result["specificity"]),
        percent(result["sparsity"], 1),
        f"{result['features']:,}",
        f"{result['examples'] / result['seconds']:,.0f}" if result["seconds"] else "-",
    ]
