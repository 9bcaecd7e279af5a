"""Tables, remarks and targets of the peers benchmark, on made-up figures."""

import msgspec
import numpy as np
import pytest

from load_tests.harness.jobs import Percentiles
from load_tests.harness.sizes import BATCH, FULL, QUICK
from load_tests.peers import registry
from load_tests.peers.contenders import Group
from load_tests.peers.results import Loaded, Played, Row, Table, Verdicts, judged, targets
from load_tests.peers.tables import peers_table, remark

STREAM = "phishstorm 1-600"
FILTER = "a filter"
LIBRARY, LOGGED, DAEMON = "a library", "a library, labels on the disk", "a daemon"


def played(rate: float, balanced: float, it: int = 0, ours: int = 0) -> Played:
    verdicts = Verdicts(balanced, balanced, it, ours)
    return Played([rate, rate, rate], latency(0.5, 2.0), latency(1.0, 4.0), verdicts)


def loaded(*rates: float) -> Loaded:
    return Loaded([*rates], latency(2.0, 8.0))


def latency(p50: float, p99: float) -> Percentiles:
    return Percentiles(p50, p99, p99, p99)


def row(name: str, group: Group, beside: str, same_work: str, figures: Played, predict: float, learn: float) -> Row:
    ahead = "it is simple"
    return Row(name, group, beside, same_work, "", ahead, None, {STREAM: figures}, loaded(predict), loaded(learn))


@pytest.fixture
def table() -> Table:
    ours, volatile = registry.OURS, registry.OURS_IN_MEMORY
    rows = [
        row(ours, Group.OURS, ours, "", played(500, 0.95), 8000, 4000),
        row(volatile, Group.OURS, ours, "", played(900, 0.95), 8000, 6000),
        row(LIBRARY, Group.PYTHON, ours, volatile, played(1000, 0.93, 5, 20), 4000, 5000),
        row(LOGGED, Group.PYTHON, ours, ours, played(250, 0.96, 20, 5), 4000, 2000),
        row(DAEMON, Group.DAEMON, ours, volatile, played(5000, 0.96, 40, 10), 30_000, 30_000),
        row(FILTER, Group.MAIL, ours, volatile, played(1800, 0.94), 800, 400),
    ]
    return Table("url", [STREAM], rows)


def test_ratios_are_those_within_a_turn(table: Table) -> None:
    table.row(LIBRARY).learning, table.row(registry.OURS).learning = loaded(10, 100, 30), loaded(20, 50, 15)
    assert table.ratios(table.row(LIBRARY), registry.OURS)["learning"] == 2.0


def test_verdicts_are_counted_beside_ours() -> None:
    labels, said, ours = (
        np.array([1.0, 1.0, -1.0, -1.0]),
        np.array([1.0, 0.0, 0.0, 1.0]),
        np.array([1.0, 1.0, 1.0, 1.0]),
    )
    found = judged(labels, said, ours)
    assert (found.balanced, found.only_it_right, found.only_ours_right) == (0.5, 1, 1)
    assert found.chance == 1.0


def test_a_large_difference_is_not_chance() -> None:
    assert Verdicts(0.9, 0.9, 40, 10).chance < 0.001
    assert Verdicts(0.9, 0.9, 12, 10).chance > 0.5
    assert Verdicts(0.9, 0.9, 0, 0).chance == 1.0


def test_learning_is_compared_where_labels_are_kept_alike(table: Table) -> None:
    found = {target.text: (target.measured, target.met) for target in targets([table])}
    ours, volatile = registry.OURS, registry.OURS_IN_MEMORY
    assert found[f"URLs scored per second, 16 connections: {ours} beside {LIBRARY}"] == ("2 x", True)
    assert found[f"URLs learnt per second, 16 connections: {ours} beside {LOGGED}"] == ("2 x", True)
    assert found[f"URLs scored and learnt per second, one connection: {volatile} beside {FILTER}"] == ("0.5 x", False)
    assert not [text for text in found if "learnt" in text and text.endswith(f"beside {LIBRARY}")]
    assert not [text for text in found if "second" in text and DAEMON in text]


def test_verdicts_are_compared_with_every_peer_once(table: Table) -> None:
    found = {target.text: (target.wanted, target.met) for target in targets([table]) if "balanced" in target.text}
    assert found == {
        f"{STREAM}: balanced accuracy, beside {LIBRARY}": ("at least 93.00%", True),
        f"{STREAM}: balanced accuracy, beside {DAEMON}": ("at least 96.00%", False),
        f"{STREAM}: balanced accuracy, beside {FILTER}": ("at least 94.00%", True),
    }


def test_a_faster_contender_has_a_remark_that_says_why(table: Table) -> None:
    said = remark(table, table.row(DAEMON))
    assert f"**Faster than {registry.OURS}** (scoring and learning 10.00 x" in said
    assert "it is simple, and it keeps labels in memory only" in said
    assert f"Beside {registry.OURS_IN_MEMORY}: scoring and learning 5.56 x" in said
    assert (
        f"**Ahead on {STREAM}** by 1.00 points: it alone is right on 40 examples, Sluice alone on 10, more than" in said
    )


def test_a_slower_contender_has_none(table: Table) -> None:
    table.row(LOGGED).played[STREAM] = played(250, 0.90)
    assert remark(table, table.row(LOGGED)) == ""
    assert remark(table, table.row(registry.OURS)) == ""


def test_being_ahead_may_be_chance_or_a_matter_of_classes(table: Table) -> None:
    table.row(FILTER).played[STREAM] = played(1, 0.97, 12, 10)
    assert "which may be chance" in remark(table, table.row(FILTER))
    table.row(FILTER).played[STREAM] = played(1, 0.97, 10, 40)
    assert "errs more often, but less on the rarer class" in remark(table, table.row(FILTER))


def test_a_missing_contender_is_named_and_no_miss(table: Table) -> None:
    absent = Row("rspamd", Group.MAIL, registry.OURS, registry.OURS_IN_MEMORY, "", "", "it is not installed")
    table.rows.append(absent)
    assert table.ratios(absent, registry.OURS)["both"] is None
    line = peers_table(table).splitlines()[-1]
    assert line == "| rspamd |" + " - |" * 11 + " Not measured: it is not installed |"
    found = [target for target in targets([table]) if target.text.endswith("rspamd")]
    assert len(found) == 4
    assert {(target.met, target.measured) for target in found} == {(None, "not measured: it is not installed")}


def test_a_row_has_rates_ratios_and_latencies(table: Table) -> None:
    line = (
        f"| **{registry.OURS}** | 500 | 1.00 | 0.50 / 2.00 | 1.00 / 4.00 | 8,000 | 1.00 | 2.00 / 8.00 | 4,000 | 1.00 |"
    )
    assert f"{line} 2.00 / 8.00 | 95.00 (95.00) |  |" in peers_table(table)


def test_results_can_be_read_back(table: Table) -> None:
    assert msgspec.json.decode(msgspec.json.encode(table), type=Table) == table


@pytest.mark.parametrize("kind", ["url", "email"])
def test_every_row_stands_beside_rows_that_are_there(kind: str) -> None:
    found = registry.contenders(kind)  # type: ignore[arg-type]
    names = [each.name for each in found]
    assert len(set(names)) == len(names)
    assert all(each.beside in names and each.same_work in {"", *names} for each in found)
    assert {each.name for each in registry.judges()} <= set(names)


def test_batches_are_full() -> None:
    assert QUICK.taught % BATCH == FULL.taught % BATCH == 0
