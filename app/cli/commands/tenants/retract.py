"""`sluice retract`: take labels back in a running service."""

from argparse import ArgumentParser, Namespace
from typing import Any, Final
from urllib.parse import quote

from app.cli.argument_types import names
from app.cli.client import Client
from app.cli.commands.tenants.export_tenant import add_service
from app.cli.output import percent, print_json, print_table, print_text

TIMEOUT_SECONDS: Final = 600.0
RATES: Final = ("balanced_accuracy", "sensitivity", "specificity")


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = (
        "Take labels back in a running service: afterwards the model is as if they had never been given. With "
        "--dry-run, only say what would happen."
    )
    add_service(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--ids", type=names, metavar="ID,...", help="labels with these feedback_ids")
    which.add_argument("--moderator", metavar="NAME", help="labels of a moderator")
    which.add_argument("--key", metavar="ID", help="labels that were given with an API key")
    parser.add_argument("--since", metavar="TIME", help="only labels from this time on, such as 2026-11-18T09:30:00Z")
    parser.add_argument("--until", metavar="TIME", help="only labels from before this time")
    parser.add_argument("--by", metavar="NAME", help="who asks for it, for the log")
    parser.add_argument("--reason", help="why, for the log")
    parser.add_argument("--dry-run", action="store_true", help="change nothing, and say what would happen")
    parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    parser.set_defaults(run=retract)


def retract(chosen: Namespace) -> None:
    """Run the command."""
    given = {
        "feedback_ids": chosen.ids,
        "moderator": chosen.moderator,
        "key_id": chosen.key,
        "since": chosen.since,
        "until": chosen.until,
        "by": chosen.by,
        "reason": chosen.reason,
    }
    body = {name: value for name, value in given.items() if value is not None} | {"dry_run": chosen.dry_run}
    with Client(chosen.url, timeout_seconds=TIMEOUT_SECONDS) as client:
        answer = client.post(f"/tenants/{quote(chosen.tenant, safe='')}/retract", body)
    if chosen.json:
        print_json(answer)
    else:
        _print(answer)


def _print(answer: dict[str, Any]) -> None:
    count, already = answer["retracted"], answer["already_retracted"]
    done = "would be taken back" if answer["dry_run"] else "taken back"
    print_text(f"tenant {answer['tenant']}: {count:,} labels {done}; {already:,} had been before")
    if answer["restored"]:
        stand = "would stand" if answer["dry_run"] else "stand"
        print_text(f"{answer['restored']:,} labels that they had replaced {stand} again")
    if count:
        rows = [
            (name.replace("_", " "), percent(answer["before"][name]), percent(answer["after"][name])) for name in RATES
        ]
        print_table(("of the last labels, %", "before", "after"), rows)
