"""Table, remarks and targets of the peers benchmark, on made-up figures."""

import numpy as np
import pytest

from load_tests.harness.jobs import Percentiles
from load_tests.peers import registry
from load_tests.peers.contenders import LEARN, PREDICT, Group, Limit
from load_tests.peers.results import BOTH, LEARNING, PREDICTING, Row, Table, Verdicts, judged, remark, render, targets

STREAM = "phishstorm 1-600"
OURS, VOLATILE = registry.OURS, registry.OURS_IN_MEMORY
LIBRARY, LOGGED, DAEMON, FILTER = "a library", "a library, labels on the disk", "a daemon", "a filter"
FAST, SLOW = Percentiles(0.5, 2.0, 2.0, 2.0), Percentiles(2.0, 8.0, 8.0, 8.0)


def row(name: str, group: Group, same_work: str, rates: tuple[float, float, float], verdicts: Verdicts) -> Row:
    return Row(
        Limit(name, group, OURS, same_work),
        rates={work: [rate] * 3 for work, rate in zip((BOTH, PREDICTING, LEARNING), rates, strict=True)},
        latencies={PREDICT: FAST, LEARN: FAST, PREDICTING: SLOW, LEARNING: SLOW},
        verdicts={STREAM: verdicts},
    )


@pytest.fixture
def table() -> Table:
    rows = [
        row(OURS, Group.OURS, "", (500, 8000, 4000), Verdicts(0.95, 0.95, 0, 0)),
        row(VOLATILE, Group.OURS, "", (900, 8000, 6000), Verdicts(0.95, 0.95, 0, 0)),
        row(LIBRARY, Group.PYTHON, VOLATILE, (1000, 4000, 5000), Verdicts(0.93, 0.93, 5, 20)),
        row(LOGGED, Group.PYTHON, OURS, (250, 4000, 2000), Verdicts(0.90, 0.90, 5, 20)),
        row(DAEMON, Group.DAEMON, VOLATILE, (5000, 30_000, 30_000), Verdicts(0.96, 0.96, 40, 10)),
        row(FILTER, Group.MAIL, VOLATILE, (1800, 800, 400), Verdicts(0.94, 0.94, 0, 0)),
    ]
    return Table("url", [STREAM], {each.contender.name: each for each in rows})


def test_ratios_are_those_within_a_turn(table: Table) -> None:
    table.rows[LIBRARY].rates[LEARNING], table.rows[OURS].rates[LEARNING] = [10, 100, 30], [20, 50, 15]
    assert table.times(table.rows[LIBRARY], OURS, LEARNING) == 2.0


def test_verdicts_are_counted_beside_ours() -> None:
    labels, said = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, 0.0, 0.0, 1.0])
    found = judged(labels, said, ours=np.ones(4))
    assert (found.balanced, found.only_it_right, found.only_ours_right) == (0.5, 1, 1)
    assert found.chance == 1.0


def test_a_large_difference_is_not_chance() -> None:
    assert Verdicts(0.9, 0.9, 40, 10).chance < 0.001
    assert Verdicts(0.9, 0.9, 12, 10).chance > 0.5
    assert Verdicts(0.9, 0.9, 0, 0).chance == 1.0


def test_learning_is_compared_where_labels_are_kept_alike(table: Table) -> None:
    found = {target.text: (target.measured, target.met) for target in targets([table])}
    assert found[f"URLs scored per second, 16 connections: {OURS} beside {LIBRARY}"] == ("2 x", True)
    assert found[f"URLs learnt per second, 16 connections: {OURS} beside {LOGGED}"] == ("2 x", True)
    assert found[f"URLs scored and learnt per second, one connection: {VOLATILE} beside {FILTER}"] == ("0.5 x", False)
    assert not [text for text in found if "learnt" in text and text.endswith(f"beside {LIBRARY}")]
    assert not [text for text in found if "second" in text and DAEMON in text]


def test_verdicts_are_compared_with_every_peer_once(table: Table) -> None:
    found = {target.text: (target.wanted, target.met) for target in targets([table]) if "balanced" in target.text}
    assert found == {
        f"{STREAM}: balanced accuracy, beside {LIBRARY}": ("at least 93.00%", True),
        f"{STREAM}: balanced accuracy, beside {DAEMON}": ("at least 96.00%", False),
        f"{STREAM}: balanced accuracy, beside {FILTER}": ("at least 94.00%", True),
    }


def test_a_contender_that_is_ahead_has_a_remark_that_says_in_what(table: Table) -> None:
    said = remark(table, table.rows[DAEMON])
    assert f"**Faster than {OURS}**: scoring and learning 10.00 x" in said
    assert f"Beside {VOLATILE}: scoring and learning 5.56 x" in said
    assert f"**Ahead on {STREAM}** by 1.00 points: it alone is right on 40 examples, Sluice alone on 10" in said
    assert [remark(table, table.rows[name]) for name in (LOGGED, OURS)] == ["", ""]


def test_a_missing_contender_is_named_and_no_miss(table: Table) -> None:
    absent = Row(Limit("rspamd", Group.MAIL, OURS, VOLATILE), "it is not installed")
    table.rows["rspamd"] = absent
    assert table.times(absent, OURS, BOTH) is None
    line = render(table).splitlines()[-1]
    assert line == "| rspamd |" + " - |" * 11 + " Not measured: it is not installed |"
    found = [target for target in targets([table]) if target.text.endswith("rspamd")]
    assert len(found) == 4
    assert {(target.met, target.measured) for target in found} == {(None, "not measured: it is not installed")}


def test_a_row_has_rates_ratios_and_latencies(table: Table) -> None:
    line = f"| **{OURS}** | 500 | 1.00 | 0.50 / 2.00 | 0.50 / 2.00 | 8,000 | 1.00 | 2.00 / 8.00 | 4,000 | 1.00 |"
    assert f"{line} 2.00 / 8.00 | 95.00 (95.00) |  |" in render(table)


@pytest.mark.parametrize("kind", ["url", "email"])
def test_every_row_stands_beside_rows_that_are_there(kind: str) -> None:
    found = registry.contenders(kind)  # type: ignore[arg-type]
    names = [each.name for each in found]
    assert len(set(names)) == len(names)
    assert all(each.beside in names and each.same_work in {"", *names} for each in found)
    assert {each.name for each in registry.judges()} <= set(names)
