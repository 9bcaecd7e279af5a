"""`sluice whatif`: what other settings, or another tenant's model, would have changed."""

from argparse import ArgumentParser, Namespace
from typing import Any, Final
from urllib.parse import quote

from app.cli.client import Client
from app.cli.commands.tenants.export_tenant import add_service
from app.cli.commands.tenants.labels import NAMES, shown_time
from app.cli.options import add_settings, algorithm_name, given_settings
from app.cli.output import percent, print_json, print_table, print_text

TIMEOUT_SECONDS: Final = 3600.0
RATES: Final = ("balanced_accuracy", "sensitivity", "specificity", "error")
COUNTS: Final = ("true_positives", "false_negatives", "true_negatives", "false_positives")
FLIP_HEADS: Final = ("time (UTC)", "label", "actual", "other", "moderator", "feedback_id", "prediction_id", "version")


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = (
        "Replay the kept labels of a tenant with other settings, beside its own, and list what would have changed. The "
        "tenant stays as it is."
    )
    add_service(parser)
    option = parser.add_argument
    option("--algorithm", type=algorithm_name, help="another algorithm, with its own defaults")
    option("--model-of", metavar="TENANT", help="begin with the settings and the model of another tenant")
    option("--since", metavar="TIME", help="compare only labels from this time on, such as 2026-11-18T09:30:00Z")
    option("--until", metavar="TIME", help="compare only labels from before this time")
    option(
        "--flips", type=int, default=20, metavar="N", help="how many flipped verdicts to list (default: %(default)s)"
    )
    option("--json", action="store_true", help="print the whole answer as JSON")
    add_settings(parser, of_tenant=True)
    parser.set_defaults(run=whatif)


def whatif(chosen: Namespace) -> None:
    """Run the command."""
    algorithm = {} if chosen.algorithm is None else {"algorithm": chosen.algorithm}
    given = {"model_of": chosen.model_of, "since": chosen.since, "until": chosen.until, "flips": chosen.flips}
    body = {name: value for name, value in given.items() if value is not None}
    with Client(chosen.url, timeout_seconds=TIMEOUT_SECONDS) as client:
        answer = client.post(
            f"/tenants/{quote(chosen.tenant, safe='')}/whatif",
            body | {"settings": algorithm | given_settings(chosen)},
        )
    if chosen.json:
        print_json(answer)
    else:
        _print(answer)


def _print(answer: dict[str, Any]) -> None:
    start = answer["start_version"]
    begin = f"the model of version {start:,}" if start else "the beginning of the log"
    left_out = f"; {answer['refused']:,} that one side cannot learn are left out" if answer["refused"] else ""
    print_text(f"tenant {answer['tenant']}: {answer['labels']:,} labels compared, from {begin} on{left_out}", "")
    actual, other, difference = answer["actual"], answer["other"], answer["difference"]
    rows = [
        (f"{name.replace('_', ' ')}, %", percent(actual[name]), percent(other[name]), _points(difference[name]))
        for name in RATES
    ]
    rows += [
        (name.replace("_", " "), f"{actual[name]:,}", f"{other[name]:,}", f"{other[name] - actual[name]:+,}")
        for name in COUNTS
    ]
    print_table(("", "actual", "other", "difference"), rows)
    counts = f"{answer['corrected']:,} would be right instead of wrong, {answer['spoilt']:,} wrong instead of right."
    print_text("", f"{answer['flipped']:,} verdicts would be different: {counts}")
    if answer["flips"]:
        print_text("")
        print_table(FLIP_HEADS, map(_cells, answer["flips"]), text_columns=len(FLIP_HEADS))


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100.0 * share:+.2f}"


def _cells(flip: dict[str, Any]) -> tuple[str, ...]:
    return (
        shown_time(flip["at"]),
        NAMES[flip["label"]],
        _verdict(flip["actual"]),
        _verdict(flip["other"]),
        flip["moderator"] or "-",
        flip["feedback_id"] or "-",
        flip["prediction_id"] or "-",
        f"{flip['version']:,}",
    )


def _verdict(side: dict[str, Any]) -> str:
    score = side["score"]
    return NAMES[side["label"]] + ("" if score is None else f" {score:.3g}")
