"""What each step found, in words and tables."""

import textwrap

from load_tests.cluster.figures import Latency
from load_tests.cluster.ledger import Checked
from load_tests.cluster.slots import busiest_share
from load_tests.cluster.steps.adding import Added
from load_tests.cluster.steps.agreeing import Agreed
from load_tests.cluster.steps.failing_over import FailedOver, Labels
from load_tests.cluster.steps.following import Following
from load_tests.cluster.steps.hot_tenant import Hot
from load_tests.cluster.steps.killing import Killed
from load_tests.cluster.steps.resharding import Moved, Resharded
from load_tests.cluster.steps.spreading import Spread
from load_tests.harness.report import table

MIB = 2**20
WIDTH = 120
NODES = (3, 4, 8, 16, 32, 64)
SHARES = """\
A service holds the tenants that it is asked for, and no others: that is what makes memory scale. On the nodes the unit
is the shard: a node has whole ones. With equally many slots for each node, as `--cluster create` gives them, the
fullest one has this many times its fair part. It follows from the names of the shards, and is the same everywhere:"""
WAYS = """\
Key by key is `CLUSTER SETSLOT` and `MIGRATE`, which every version knows: while a slot is being emptied, a call that
needs keys of both sides is refused. All at once is `CLUSTER MIGRATESLOTS` of Valkey 9."""


def spread(found: Spread) -> str:
    """Who has what."""
    nodes = (
        (node.name, node.shards, f"{node.tenants:,}", f"{node.keys:,}", f"{node.bytes / MIB:.1f}")
        for node in found.nodes
    )
    services = (
        (each.name, f"{each.home_of:,}", f"{each.held:,}", f"{(each.bytes - each.empty_bytes) / MIB:.1f}")
        for each in found.services
    )
    shares = ((nodes, f"{256 / nodes:.3g}", f"{busiest_share(nodes):.2f} x") for nodes in NODES)
    return _paragraphs(
        "Every tenant was given its first labels and asked once, through the router.",
        table(("node", "shards of 256", "tenants", "keys", "data, MiB"), nodes),
        table(("service", "home of", "tenants in memory", "memory they added, MiB"), services),
        SHARES,
        table(("nodes", "shards for each", "the fullest has"), shares),
    )


def following(found: Following) -> str:
    """What a service costs that is asked nothing."""
    return _sentences(
        "Every service asks for the change feeds of all 256 shards, 20 times a second, whatever it holds. One that is",
        f"asked nothing takes {found.service_cores:.2f} of a core for that and sends {found.commands_per_second:,.0f}",
        f"commands a second, for which all primaries together take {found.node_cores:.3f} of a core.",
    )


def added(found: Added) -> str:
    """What the newcomer took over."""
    return _sentences(
        f"{found.moved:,} of {found.tenants:,} tenants have the new service as their home ({found.share:.2f} times the",
        f"even share of 1/{found.services}), and {found.moved_elsewhere:,} moved between others. It loads them when",
        f"they are asked for: the first prediction of each took {_latency(found.first_prediction)};",
        f"{found.held:,} were in its memory then. {found.differing:,} differ in version, digest or score from what",
        f"their home of before has. {_labels(found.checked)}",
    )


def killed(found: Killed) -> str:
    """How its tenants came through."""
    return _sentences(
        f"`kill -9` of a service with {found.tenants:,} tenants, while labels came for {found.labelled:,} of them.",
        f"{found.sent_on:,} requests got no answer from it and were sent on. {found.answered:,} tenants were answered",
        f"by {found.taken_over_by} other services, the last one {found.seconds:.2f} s after the kill (each asked once,",
        f"8 at a time); the first prediction of each took {_latency(found.first_prediction)}. Of those that were not",
        f"labelled meanwhile, {found.differing:,} differ. {_labels(found.checked)}",
    )


def failed_over(found: FailedOver) -> str:
    """What clients saw of it."""
    rows = (_row("on the dead node", found.its_own), _row("on other nodes", found.others))
    times = _sentences(
        "`kill -9` of the primary that also has the list of tenants, with a node timeout of",
        f"{found.node_timeout_seconds:g} s. Its replica was promoted {found.promoted_seconds:.1f} s later, and the",
        f"first label of its tenants acknowledged {found.accepted_seconds:.1f} s after the kill.",
    )
    predictions = _sentences(
        f"Predictions, for all tenants: {found.predictions:,} asked, {found.predictions_refused:,} refused,",
        f"{_latency(found.prediction)}. {found.not_ready} of {found.services} services said 503 at `/readyz`",
        "meanwhile: they are ready as long as some node answers.",
    )
    put_back = _sentences(
        "The replica had been cut off shortly before, so that it lacked what was acknowledged last, as asynchronous",
        f"replication may. The services appended {found.put_back:,} such events again; all labels of its tenants were",
        f"found {found.put_back_seconds:.1f} s after the promotion, and {found.rescued:,} models had to be set aside.",
        _labels(found.checked),
    )
    header = ("labels of tenants", "tenants", "acknowledged", "attempts refused", "longest wait, s")
    return _paragraphs(times, table(header, rows), predictions, put_back)


def hot(found: Hot) -> str:
    """How far behind the others were."""
    return _sentences(
        f"One tenant at all {found.services} services: {found.labels:,} labels, given at each in turn. From the",
        f"acknowledgement at one to the version at another: {_latency(found.delay)}. {found.differing:,} services end",
        "with another digest.",
    )


def resharded(found: Resharded) -> str:
    """What it cost to fill the new node."""
    header = ("way", "slots", "tenants in them", "seconds", "labels meanwhile", "attempts refused", "longest wait, s")
    intro = f"The new node was given {found.new_node_shards} of the 256 shards, while labels came for their tenants."
    return _paragraphs(intro, WAYS, table(header, map(_moved, found.moves)), _labels(found.checked))


def agreed(found: Agreed) -> str:
    """Whether all that was done has left its traces anywhere."""
    return _sentences(
        f"The killed service was started again, with nothing in memory, and loaded {found.sample:,} tenants from the",
        f"cluster ({_latency(found.loading)}): {found.differing:,} differ from what their homes have.",
        _labels(found.checked),
    )


def _moved(move: Moved) -> tuple[object, ...]:
    refused, worst = _refused(move.refused, move.mistakes), f"{move.worst_seconds:.2f}"
    return (move.way, move.slots, f"{move.tenants:,}", f"{move.seconds:.1f}", f"{move.labels:,}", refused, worst)


def _row(name: str, labels: Labels) -> tuple[object, ...]:
    refused, worst = _refused(labels.refused, labels.mistakes), f"{labels.worst_seconds:.2f}"
    return (name, f"{labels.tenants:,}", f"{labels.acknowledged:,}", refused, worst)


def _refused(refused: int, mistakes: int) -> str:
    return f"{refused:,}" + (f", {mistakes:,} of them with 500" if mistakes else "")


def _labels(checked: Checked) -> str:
    given, lost, twice = checked.acknowledged, checked.lost, checked.twice
    return f"Of {given:,} labels acknowledged so far, {lost:,} are lost and {twice:,} learnt twice."


def _latency(found: Latency | None) -> str:
    if found is None:
        return "not measured"
    return f"p50 {found.p50:.1f} ms, p99 {found.p99:.1f} ms, the worst {found.worst:.1f} ms"


def _sentences(*lines: str) -> str:
    return textwrap.fill(" ".join(lines), WIDTH, break_long_words=False, break_on_hyphens=False)


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(parts)
