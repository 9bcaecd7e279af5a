"""What a run has shown: before and after the change, the service's own figures, and what the model goes by."""

import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from app.cli.demo.asking import Client, RequestRefused
from app.cli.demo.tallying import SPAN, Tally, by_model
from app.cli.showing import percent, table
from app.datasets.synthetic_urls import SyntheticUrl
from app.learning.prequential import Confusion

TOP_WEIGHTS, TOP_CONTRIBUTIONS = 8, 5
LONGEST_LAG_SECONDS = 2.0
NOTHING = Confusion(0, 0, 0, 0)


def counted_by_service(client: Client, tenant: str) -> Confusion:
    """The counts behind the rates of GET /tenants/{tenant}; none, if there is no such tenant yet."""
    try:
        shown = client.get(f"/tenants/{quote(tenant, safe='')}")
    except RequestRefused as refused:
        if refused.status != HTTPStatus.NOT_FOUND:
            raise
        return NOTHING
    positives, negatives = shown["counts"]["positives"], shown["counts"]["negatives"]
    found = round(positives * (shown["sensitivity"] or 0.0))
    left = round(negatives * (shown["specificity"] or 0.0))
    return Confusion(left, negatives - left, positives - found, found)


def told(client: Client, tenant: str, tally: Tally, service_before: Confusion) -> str:
    """All of it, as text."""
    weights = client.get(f"/tenants/{quote(tenant, safe='')}/weights?top={TOP_WEIGHTS}")["weights"]
    parts = [
        _rates(tally),
        _agreement(tenant, tally.model, service_before, _counted_at_last(client, tenant, tally, service_before)),
        table(("feature", "weight", "speaks for"), [_weight(each) for each in weights]),
    ]
    if tally.caught is not None:
        parts.append(_caught(client, tenant, tally.caught))
    return "\n\n".join(parts)


def _counted_at_last(client: Client, tenant: str, tally: Tally, before: Confusion) -> Confusion:
    """Of several workers, one may hear of the last labels a moment later than the one that was given them."""
    deadline = time.monotonic() + LONGEST_LAG_SECONDS
    while (counted := counted_by_service(client, tenant)).examples < before.examples + tally.labels:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return counted


def _rates(tally: Tally) -> str:
    before, now = tally.before, tally.now
    rows: list[tuple[str, Confusion]] = []
    if before is not None:
        rows = [("before the change", by_model(before.last)), ("just after it", by_model(now.first))]
    rows += [("at the end", by_model(now.last)), ("all labels", tally.model), ("all, as served", tally.served)]
    head = ("", "balanced %", "±", "sensitivity %", "specificity %", "labels", "attacks")
    note = (
        f"The first three are over {SPAN} labels at most. Every verdict is of just before its label was learnt; as\n"
        "served: of when it was asked, 5 to 40 URLs earlier. ± is half of the 95% interval of balanced."
    )
    return f"{table(head, [_row(*row) for row in rows])}\n\n{note}"


def _row(name: str, counts: Confusion) -> list[str]:
    shares = (counts.balanced_accuracy, counts.balanced_accuracy_margin, counts.sensitivity, counts.specificity)
    return [name, *(percent(share) for share in shares), f"{int(counts.examples):,}", f"{int(counts.positives):,}"]


def _agreement(tenant: str, ours: Confusion, before: Confusion, after: Confusion) -> str:
    """The service has counted for itself; of a tenant that was there already, only what is new is ours."""
    since = Confusion(
        after.true_negatives - before.true_negatives,
        after.false_positives - before.false_positives,
        after.false_negatives - before.false_negatives,
        after.true_positives - before.true_positives,
    )
    run = f", of which {int(since.examples):,} of this run: {_exactly(since)}" if before.examples else ""
    verdict = "They agree." if since == ours else "They differ: somebody else labels this tenant at the same time."
    return (
        f"GET /tenants/{tenant} says: balanced accuracy {_exactly(after)} over {int(after.examples):,} labels{run}.\n"
        f"Counted here: {_exactly(ours)} over {int(ours.examples):,} labels. {verdict}"
    )


def _exactly(counts: Confusion) -> str:
    share = counts.balanced_accuracy
    return "-" if share is None else f"{percent(share, 4)}%"


def _weight(weight: Mapping[str, Any]) -> list[str]:
    return [weight["feature"], f"{weight['weight']:+.4f}", "attack" if weight["weight"] > 0 else "normal"]


def _caught(client: Client, tenant: str, item: SyntheticUrl) -> str:
    """One attack that was known, and why."""
    asked = {"tenant": tenant, "url": item.url, "explain": TOP_CONTRIBUTIONS, "keep": False}
    answer = client.post("/predict", asked)
    lines = [f"  {each['contribution']:+.4f}  {each['feature']}" for each in answer["explanation"]]
    return "\n".join([f"Flagged: {item.url}", f"score {answer['score']:+.4f}, most of it because of", *lines])
