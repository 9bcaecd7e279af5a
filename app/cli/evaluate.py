"""`sluice evaluate`: test-then-train over a file, with one algorithm or several side by side."""

from argparse import ArgumentParser, Namespace
from typing import Any

import msgspec

from app.cli.learning import Learner, Pass, run
from app.cli.options import add_settings, add_source, algorithm_name, given_settings, settings_for, shared_settings
from app.cli.showing import percent, summarise, table
from app.learning.state import TenantState

HEAD = (
    "algorithm",
    "error %",
    "balanced %",
    "±",
    "sensitivity %",
    "specificity %",
    "sparsity %",
    "features",
    "examples/s",
)

NOTES = (
    "Every example was scored before its label was learnt. Balanced: mean of sensitivity and specificity; ± is half of",
    "its 95% interval. Sparsity: features whose weight is 0. Examples/s: the learner alone, without reading the file.",
)


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse gives its subparsers no public type
    """Add the command."""
    parser: ArgumentParser = commands.add_parser(
        "evaluate",
        help="test, then train, over a file of labelled examples",
        description="Score every example before learning its label, and print how good the verdicts were.",
    )
    add_source(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--algorithm", type=algorithm_name, default="cs-ssol", help="default: cs-ssol")
    which.add_argument(
        "--compare", type=lambda text: [algorithm_name(name) for name in text.split(",")], metavar="A,B,...",
        help="several algorithms over one pass of the file",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    add_settings(parser)
    parser.set_defaults(run=evaluate)


def evaluate(chosen: Namespace) -> None:
    """Run the command."""
    given = given_settings(chosen)
    settings = shared_settings(chosen.compare, given) if chosen.compare else [settings_for(chosen.algorithm, given)]
    learners = [Learner(TenantState(each)) for each in settings]
    seen = run(chosen, learners)
    results = [summarise(learner.state) | {"seconds": learner.seconds} for learner in learners]
    if chosen.json:
        print(msgspec.json.format(msgspec.json.encode(_summary(chosen, seen) | {"results": results})).decode())
    else:
        print(_text(chosen, seen, results))


def _summary(chosen: Namespace, seen: Pass) -> dict[str, Any]:
    return {
        "file": chosen.file,
        "examples": seen.examples,
        "nonzeros": seen.nonzeros,
        "sorted_by_label": seen.is_sorted_by_label,
        "skipped_lines": seen.skipped,
        "seconds": seen.seconds,
    }


def _text(chosen: Namespace, seen: Pass, results: list[dict[str, Any]]) -> str:
    first = results[0]
    classes = f"{first['positives']:,} anomalies and {first['negatives']:,} normal"
    length = f"{seen.nonzeros / max(seen.examples, 1):.1f} features each"
    lines = [
        f"{chosen.file}: {seen.examples:,} examples, {classes}, {length}",
        "",
        table(HEAD, [_cells(result) for result in results]),
        "",
        *NOTES,
        f"Calling everything normal would have an error of {percent(_share(first))}% and a balanced accuracy of 50%.",
        *_warnings(seen, results),
    ]
    return "\n".join(lines)


def _warnings(seen: Pass, results: list[dict[str, Any]]) -> list[str]:
    """What makes the figures mean less than they seem to."""
    lines = [
        f"{each['algorithm']} dropped new features {each['dropped_features']:,} times: it was at its limit of "
        f"{each['config']['max_features']:,}."
        for each in results
        if each["dropped_features"]
    ]
    if seen.is_sorted_by_label:
        lines.append(
            f"Mind the order: the label changes only {seen.changes:,} times from one example to the next, so the order "
            "alone tells most labels, and these figures mean little. Try --shuffle 1."
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


def _share(result: dict[str, Any]) -> float | None:
    return result["positives"] / result["examples"] if result["examples"] else None
