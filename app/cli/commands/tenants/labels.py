"""`sluice labels`: who labelled what, from a running service."""

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

from app.cli.argument_types import count
from app.cli.client import Client
from app.cli.commands.tenants.export_tenant import PIECE_BYTES, TIMEOUT_SECONDS, add_service
from app.cli.output import print_table, warn

HEADS: Final = ("time (UTC)", "label", "moderator", "key", "feedback_id", "answered", "replaced", "taken back")
NAMES: Final = {1: "anomaly", -1: "normal"}
FILTERS: Final = ("moderator", "key_id", "feedback_id", "prediction_id", "label", "since", "until", "retracted")
PAGE: Final = 1000


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = "Show the labels of a tenant, the newest first, as far back as its log reaches."
    add_service(parser)
    option = parser.add_argument
    option("--moderator", metavar="NAME", help="only labels of a moderator")
    option("--key", dest="key_id", metavar="ID", help="only labels that were given with an API key")
    option("--feedback-id", metavar="ID", help="only the label with this id")
    option("--prediction-id", metavar="ID", help="only labels of this prediction")
    option("--label", choices=("1", "-1"), help="only anomalies, or only normal ones")
    option("--since", metavar="TIME", help="only labels from this time on, such as 2026-11-18T09:30:00Z")
    option("--until", metavar="TIME", help="only labels from before this time")
    option("--retracted", choices=("true", "false"), help="only labels that were taken back, or only those that stand")
    option("--limit", type=count, default=20, metavar="N", help="how many (default: %(default)s)")
    option("--format", choices=("table", "csv", "jsonl"), default="table", help="csv and jsonl have all of them")
    parser.set_defaults(run=labels)


def labels(chosen: Namespace) -> None:
    """Run the command."""
    query = {name: value for name in FILTERS if (value := getattr(chosen, name)) is not None}
    path = f"/tenants/{quote(chosen.tenant, safe='')}/labels?"
    with Client(chosen.url, timeout_seconds=TIMEOUT_SECONDS) as client:
        if chosen.format != "table":
            _print_file(client, path + urlencode(query | {"format": chosen.format}))
            return
        found = _read(client, path, query, chosen.limit)
    if found:
        print_table(HEADS, map(_cells, found), text_columns=len(HEADS))
    else:
        warn("There are no labels.")


def _read(client: Client, path: str, query: dict[str, str], limit: int) -> list[dict[str, Any]]:
    """Read so many labels, page by page."""
    found: list[dict[str, Any]] = []
    before: dict[str, int] = {}
    while True:
        answer = client.get(path + urlencode({**query, **before, "limit": min(limit - len(found), PAGE)}))
        found += answer["labels"]
        if answer["next"] is None or len(found) >= limit:
            return found
        before = {"before": answer["next"]}


def _print_file(client: Client, path: str) -> None:
    with client.stream("GET", path) as answer:
        for piece in answer.iter_text(PIECE_BYTES):
            print(piece, end="")


def _cells(label: dict[str, Any]) -> tuple[str, ...]:
    replaced, taken_back = label["replaced"], label["retracted"]
    return (
        shown_time(label["at"]),
        NAMES[label["label"]],
        label["moderator"] or "-",
        label["key_id"] or "-",
        label["feedback_id"] or "-",
        NAMES.get(label["served_label"], "-"),
        f"{NAMES[replaced['label']]} of {replaced['moderator'] or 'before'}" if replaced else "-",
        f"{shown_time(taken_back['at'])} {taken_back['reason'] or ''}".rstrip() if taken_back else "-",
    )


def shown_time(milliseconds: int) -> str:
    """Show a time in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
