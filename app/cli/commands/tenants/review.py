"""`sluice review`: look at what is worth it, and decide with one key each."""

import secrets
import time
from argparse import ArgumentParser, Namespace
from typing import Any, Final
from urllib.parse import quote, urlencode

from app.cli.argument_types import count
from app.cli.client import Client, RequestRefused
from app.cli.commands.tenants.export_tenant import TIMEOUT_SECONDS, add_service
from app.cli.commands.tenants.labels import NAMES
from app.cli.keyboard import read_key
from app.cli.output import percent, print_json, print_table, print_text, printable, warn

RETRY_SECONDS: Final = 30.0
KEYS: Final = "a anomaly, n normal, u unsure, s skip, z undo the last label, q quit"
LABELS: Final = {"a": 1, "n": -1}
ACTIONS: Final = {"u": "unsure", "s": "skip"}
UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
CONFLICT: Final = 409

Item = dict[str, Any]


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = (
        "Review the predictions of a tenant that are most worth a look, one after the other. One key decides: " + KEYS
    )
    add_service(parser)
    option = parser.add_argument
    option("--moderator", metavar="NAME", help="who reviews, unless the key carries a name")
    option("--lease-seconds", type=count, default=300, metavar="N", help="time for each item (default: %(default)s)")
    option("--explain", type=count, default=8, metavar="N", help="how many reasons to show (default: %(default)s)")
    option("--status", action="store_true", help="only show what the queue holds; nothing is leased")
    option("--json", action="store_true", help="with --status: print it as JSON")
    parser.set_defaults(run=review)


def review(chosen: Namespace) -> None:
    """Run the command."""
    path = f"/tenants/{quote(chosen.tenant, safe='')}"
    with Client(chosen.url, timeout_seconds=TIMEOUT_SECONDS, retry_seconds=RETRY_SECONDS, report=warn) as client:
        if chosen.status:
            _print_status(chosen, client.get(path)["review"])
        else:
            Session(client, chosen, path).run()


class Session:
    """One person who reviews item after item."""

    def __init__(self, client: Client, chosen: Namespace, path: str) -> None:
        self._client = client
        self._chosen = chosen
        self._path = path
        self._who = {"moderator": chosen.moderator} if chosen.moderator is not None else {}
        self._labelled: list[tuple[Item, str]] = []  # items, and the feedback_ids of their labels
        self._again: Item | None = None  # an item whose label was taken back: the queue does not have it any more

    def run(self) -> None:
        """Show items until nothing waits, or the person leaves."""
        print_text(KEYS)
        decided = 0
        while (item := self._next()) is not None:
            try:
                is_going_on = self._decide(item)
            except KeyboardInterrupt:
                self._end("release", item)
                raise
            if not is_going_on:
                self._end("release", item)
                break
            decided += 1
        else:
            print_text("", "Nothing else waits for you.")
        print_text(f"{len(self._labelled):,} labelled of {decided:,} shown")

    def _next(self) -> Item | None:
        if self._again is not None:
            again, self._again = self._again, None
            _show(again)
            return again
        chosen = self._chosen
        query = urlencode({"limit": 1, "lease_seconds": chosen.lease_seconds, "explain": chosen.explain} | self._who)
        begin = time.monotonic()
        answer = self._client.get(f"{self._path}/review?{query}")
        if not answer["items"]:
            return None
        item: Item = answer["items"][0] | {"lease_end": begin + chosen.lease_seconds}
        _show(item, f"{answer['waiting'] + 1:,} wait")
        return item

    def _decide(self, item: Item) -> bool:
        """Wait for a key and do what it says; False to quit."""
        while (key := read_key().lower()) not in {"q", ""}:
            if key == "z" and self._undo(item):
                return True
            if key in LABELS:
                self._label(item, LABELS[key])
                return True
            if key in ACTIONS:
                print_text(ACTIONS[key])
                self._end(ACTIONS[key], item)
                return True
            if key != "z":
                print_text(KEYS)
        return False

    def _label(self, item: Item, label: int) -> None:
        if time.monotonic() > item["lease_end"] and not self._end("renew", item):
            return
        feedback_id = f"review-{secrets.token_hex(8)}"  # so that a retry is harmless
        body = {"tenant": item["tenant"], "prediction_id": item["prediction_id"], "label": label}
        try:
            self._client.post("/feedback", body | {"feedback_id": feedback_id} | self._who)
        except RequestRefused as refused:  # as when the prediction has expired; the next item may be well
            warn(str(refused))
            return
        self._labelled.append((item, feedback_id))
        print_text(NAMES[label])

    def _undo(self, item: Item) -> bool:
        """Take back the last label, and show its item again before this one."""
        if not self._labelled:
            print_text("There is no label to undo.")
            return False
        last, feedback_id = self._labelled.pop()
        by = {"by": self._chosen.moderator} if self._chosen.moderator is not None else {}
        self._client.post(f"{self._path}/retract", {"feedback_ids": [feedback_id], "reason": "undone"} | by)
        print_text("The last label is taken back.")
        self._end("release", item)
        self._again = last | {"lease_end": float("inf")}
        return True

    def _end(self, action: str, item: Item) -> bool:
        """End or renew a lease; False if it is lost, as after a long pause."""
        if item["lease_end"] == float("inf"):  # it has none: the queue does not have it any more
            return True
        body = {"action": action, "lease": item["lease"]} | self._who
        if action == "renew":
            body["lease_seconds"] = self._chosen.lease_seconds
        try:
            self._client.post(f"{self._path}/review/{quote(item['prediction_id'], safe='')}", body)
        except RequestRefused as refused:
            if refused.status != CONFLICT:
                raise
            warn(str(refused))
            return False
        return True


def _show(item: Item, waiting: str = "again") -> None:
    model = item["then"] or item["now"] or {}
    verdict = (
        f"{NAMES[item['label']]}, score {item['score']:.4g}" if item["score"] is not None else NAMES[item["label"]]
    )
    chance = f", probability {percent(model['probability'], 0)} %" if model.get("probability") is not None else ""
    facts = f"{verdict}{chance}, {_age(item['age_seconds'])} ago, chosen as {item['review_reason'] or 'is'}"
    print_text("", f"{item['prediction_id']} ({waiting}): {facts}")
    if given := item.get("input"):
        print_text(printable(str(given)))
    reasons = model.get("reasons") or model.get("explanation") or []
    rows = [(f"{each['contribution']:+.4g}", str(each.get("text") or each.get("feature"))) for each in reasons]
    if rows:
        print_table(("score", "because of"), rows, text_columns=2)
    elif item["features"]:
        rows = [(f"{value:.6g}", name) for name, value in list(item["features"].items())[:20]]
        print_table(("value", "feature"), rows, text_columns=2)


def _print_status(chosen: Namespace, found: dict[str, Any] | None) -> None:
    if chosen.json:
        print_json(found)
    elif found is None:
        warn("The store does not answer; the queue is not known.")
    else:
        age = "" if found["oldest_age_seconds"] is None else f"; the oldest is {_age(found['oldest_age_seconds'])} old"
        print_text(f"tenant {chosen.tenant}: {found['waiting']:,} wait, {found['leased']:,} are leased{age}")
        if found["by_reason"]:
            print_table(("reason", "items"), [(name, f"{number:,}") for name, number in found["by_reason"].items()])


def _age(seconds: float) -> str:
    size, unit = next((each for each in UNITS if seconds >= each[0]), UNITS[-1])
    return f"{seconds / size:.0f} {unit}"
