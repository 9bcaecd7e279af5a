"""The summary of a demo: rates before and after the change, the service's own figures, and the largest weights."""

import time
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from app.cli.client import Client, RequestRefused
from app.cli.demo.tally import SPAN, Tally, by_model
from app.cli.output import percent, print_table, print_text, printable
from app.datasets.synthetic_urls import SyntheticUrl
from app.learning.parts.confusion import Confusion

TOP_WEIGHTS, TOP_CONTRIBUTIONS = 8, 5
LONGEST_LAG_SECONDS: Final = 2.0
EMPTY: Final = Confusion(0, 0, 0, 0)
HEADS: Final = ("", "balanced", "±", "sensitivity", "specificity", "labels", "attacks")


def counted_by_service(client: Client, tenant: str) -> Confusion:
    """The counts behind the rates of GET /tenants/{tenant}; all 0 for a tenant that does not exist."""
    try:
        shown = client.get(f"/tenants/{quote(tenant, safe='')}")
    except RequestRefused as refused:
        if refused.status != HTTPStatus.NOT_FOUND:
            raise
        return EMPTY
    positives, negatives = shown["counts"]["positives"], shown["counts"]["negatives"]
    true_positives = round(positives * (shown["sensitivity"] or 0.0))
    true_negatives = round(negatives * (shown["specificity"] or 0.0))
    return Confusion(true_negatives, negatives - true_negatives, positives - true_positives, true_positives)


def print_summary(client: Client, tenant: str, tally: Tally, service_before: Confusion) -> None:
    """Print everything."""
    weights = client.get(f"/tenants/{quote(tenant, safe='')}/weights?top={TOP_WEIGHTS}")["weights"]
    service_after = _final_counts(client, tenant, service_before.examples + tally.labels)
    print()
    print_table(HEADS, [_row(*row) for row in _rates(tally)])
    note = (
        f"Rates are in percent; the first three rows count up to {SPAN} labels each. A verdict is of just before its "
        "label was learnt; as served: of its prediction, 5 to 40 URLs earlier. ± is half of the 95% "
        "interval of balanced."
    )
    print_text("", note, "", *_agreement(tenant, tally.model, service_before, service_after), "")
    rows = [
        (each["feature"], f"{each['weight']:+.4f}", "attack" if each["weight"] > 0 else "normal") for each in weights
    ]
    print_table(("feature", "weight", "indicates"), rows)
    if tally.caught is not None:
        _print_caught(client, tenant, tally.caught)


def _final_counts(client: Client, tenant: str, examples: float) -> Confusion:
    """Wait until the worker that answers has applied all labels: it may be another one than acknowledged them."""
    deadline = time.monotonic() + LONGEST_LAG_SECONDS
    while (counted := counted_by_service(client, tenant)).examples < examples:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return counted


def _rates(tally: Tally) -> list[tuple[str, Confusion]]:
    before, now = tally.before, tally.now
    rows: list[tuple[str, Confusion]] = []
    if before is not None:
        rows = [("before the change", by_model(before.last)), ("just after it", by_model(now.first))]
    return [*rows, ("at the end", by_model(now.last)), ("all labels", tally.model), ("all, as served", tally.served)]


def _row(name: str, counts: Confusion) -> list[str]:
    shares = (counts.balanced_accuracy, counts.balanced_accuracy_margin, counts.sensitivity, counts.specificity)
    return [name, *(percent(share) for share in shares), f"{int(counts.examples):,}", f"{int(counts.positives):,}"]


def _agreement(tenant: str, ours: Confusion, before: Confusion, after: Confusion) -> tuple[str, str]:
    """Compare the service's counts with ours; of a tenant that existed before, only the new labels count."""
    since = Confusion(
        after.true_negatives - before.true_negatives,
        after.false_positives - before.false_positives,
        after.false_negatives - before.false_negatives,
        after.true_positives - before.true_positives,
    )
    run = f", of which {int(since.examples):,} of this run: {_exact(since)}" if before.examples else ""
    verdict = "They agree." if since == ours else "They differ: someone else labels this tenant at the same time."
    return (
        f"GET /tenants/{tenant} shows balanced accuracy {_exact(after)} over {int(after.examples):,} labels{run}.",
        f"Counted here: {_exact(ours)} over {int(ours.examples):,} labels. {verdict}",
    )


def _exact(counts: Confusion) -> str:
    share = counts.balanced_accuracy
    return "-" if share is None else f"{percent(share, 4)}%"


def _print_caught(client: Client, tenant: str, item: SyntheticUrl) -> None:
    """Explain one attack that the model flagged."""
    body = {"tenant": tenant, "url": item.url, "explain": TOP_CONTRIBUTIONS, "keep": False}
    answer = client.post("/predict", body)
    print(f"\nFlagged: {item.url}\nscore {answer['score']:+.4f}; the largest contributions:")
    for each in answer["explanation"]:
        print(f"  {each['contribution']:+.4f}  {printable(each['feature'])}")
