"""What a run finds, step by step, and its section of docs/scaling.md."""

from dataclasses import dataclass

from load_tests.cluster.figures import figures_table, targets_of
from load_tests.cluster.service_steps import Added, Following, Hot, Killed, Reloaded, Spread
from load_tests.cluster.slots import busiest_share
from load_tests.cluster.store_steps import FailedOver, LabelsDuring, Resharded
from load_tests.harness.report import DOCS, Report, table_of

TITLES = {
    "spread": "Tenants are spread",
    "following": "What following costs",
    "added": "A service is added",
    "killed": "A service is killed",
    "failed_over": "A primary of the cluster is killed",
    "hot": "A hot tenant",
    "resharded": "A node is added to the cluster",
    "reloaded": "Loaded from nothing",
}
NODES = (3, 4, 8, 16, 32, 64)
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Results:
    """Of one run."""

    spread: Spread
    following: Following
    added: Added
    killed: Killed
    failed_over: FailedOver
    hot: Hot
    resharded: Resharded
    reloaded: Reloaded


def report(results: Results, machine: str) -> Report:
    """The figures of each step, and tables of its parts."""
    more = {"spread": _spread(results.spread), "failed_over": _labels(results.failed_over)}
    more["resharded"] = _moves(results.resharded)
    targets, parts = [], {}
    for number, (name, title) in enumerate(TITLES.items(), start=1):
        step = getattr(results, name)
        targets += targets_of(title, step)
        parts[f"{number}. {title}"] = "\n\n".join(filter(None, [more.get(name), figures_table(step)]))
    return Report("simulation", machine, targets, parts, DOCS / "scaling.md")


def _spread(found: Spread) -> str:
    nodes = table_of(
        found.nodes,
        ("node", lambda node: node.name),
        ("shards of 256", lambda node: node.shards),
        ("tenants", lambda node: f"{node.tenants:,}"),
        ("keys", lambda node: f"{node.keys:,}"),
        ("data, MiB", lambda node: f"{node.bytes / MIB:.1f}"),
    )
    services = table_of(
        found.services,
        ("service", lambda service: service.name),
        ("home of", lambda service: f"{service.home_of:,}"),
        ("tenants in memory", lambda service: f"{service.held:,}"),
        ("memory they added, MiB", lambda service: f"{service.added_bytes / MIB:.1f}"),
    )
    shares = table_of(
        NODES,
        ("nodes", lambda nodes: nodes),
        ("shards for each", lambda nodes: f"{256 / nodes:.3g}"),
        ("the fullest has", lambda nodes: f"{busiest_share(nodes):.2f} x"),
    )
    return f"{nodes}\n\n{services}\n\n{shares}"


def _labels(found: FailedOver) -> str:
    return table_of(
        found.labels,
        ("labels of tenants", lambda labels: labels.name),
        ("tenants", lambda labels: f"{labels.tenants:,}"),
        ("acknowledged", lambda labels: f"{labels.acknowledged:,}"),
        ("attempts refused", _refused),
        ("longest wait, s", lambda labels: f"{labels.worst_seconds:.2f}"),
    )


def _moves(found: Resharded) -> str:
    return table_of(
        found.moves,
        ("way", lambda move: move.labels.name),
        ("slots", lambda move: move.slots),
        ("tenants in them", lambda move: f"{move.labels.tenants:,}"),
        ("seconds", lambda move: f"{move.seconds:.1f}"),
        ("labels meanwhile", lambda move: f"{move.labels.acknowledged:,}"),
        ("attempts refused", lambda move: _refused(move.labels)),
        ("longest wait, s", lambda move: f"{move.labels.worst_seconds:.2f}"),
    )


def _refused(labels: LabelsDuring) -> str:
    return f"{labels.refused:,}" + (f", {labels.errors:,} of them with 500" if labels.errors else "")
