"""The section of docs/scaling.md that the simulation writes, and the page around it."""

import shutil
import subprocess
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from load_tests.cluster.figures import Latency
from load_tests.cluster.ledger import Checked
from load_tests.cluster.page import simulation_section
from load_tests.cluster.results import Results, targets
from load_tests.cluster.sizes import QUICK
from load_tests.cluster.steps.adding import Added
from load_tests.cluster.steps.agreeing import Agreed
from load_tests.cluster.steps.failing_over import FailedOver, Labels
from load_tests.cluster.steps.following import Following
from load_tests.cluster.steps.hot_tenant import Hot
from load_tests.cluster.steps.killing import Killed
from load_tests.cluster.steps.resharding import Moved, Resharded
from load_tests.cluster.steps.spreading import NodeShare, ServiceShare, Spread

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
WELL = Checked(acknowledged=4000, lost=0, twice=0, broken=0)
SOON = Latency(2.0, 9.0, 20.0)
RESULTS = Results(
    sizes=QUICK,
    machine=["Processor: some"],
    load_averages=(0.1, 2.0),
    seconds=30.0,
    spread=Spread(
        [NodeShare("primary 1", 128, 100, 900, 1 << 20), NodeShare("primary 2", 128, 100, 900, 1 << 20)],
        [ServiceShare("a", 100, 100, 1 << 20, 3 << 20), ServiceShare("b", 100, 100, 1 << 20, 3 << 20)],
        WELL,
    ),
    following=Following(0.1, 0.01, 4000.0),
    added=Added(5, 200, 40, 0, 40, SOON, 0, WELL),
    killed=Killed(40, 8, 40, 3, 0.2, SOON, 5, 0, WELL),
    failed_over=FailedOver(
        2.0, 2.9, 3.0, Labels(70, 90, 120, 0, 3.1), Labels(130, 400, 0, 0, 0.1), 1500, 0, SOON, 4, 4, 43, 0, 0.5, WELL
    ),
    hot=Hot(4, 20, SOON, 0),
    resharded=Resharded([Moved("key by key", 33, 21, 3.0, 800, 5, 0, 0.3)], 63, WELL),
    agreed=Agreed(40, 0, SOON, WELL),
)


def test_a_run_in_which_all_went_well_meets_every_target() -> None:
    assert [target.text for target in targets(RESULTS) if not target.met] == []
    assert "All were met in this run." in simulation_section(RESULTS)


@pytest.mark.parametrize("fate", ["lost", "twice", "broken"])
def test_a_label_that_is_lost_or_learnt_twice_is_a_miss(fate: str) -> None:
    checked = replace(WELL, **{fate: 1})
    found = replace(RESULTS, resharded=replace(RESULTS.resharded, checked=checked))
    assert [target.text for target in targets(found) if not target.met] == [
        "A node more: acknowledged labels lost, or learnt twice"
    ]


def test_labels_of_other_nodes_that_are_refused_and_answers_of_500_are_misses() -> None:
    others = Labels(130, 400, 7, 2, 0.1)
    found = replace(RESULTS, failed_over=replace(RESULTS.failed_over, others=others))
    missed = {target.text: target.measured for target in targets(found) if not target.met}
    assert list(missed.values()) == ["7", "2"]
    assert "7, 2 of them with 500" in simulation_section(found)


def test_a_service_that_holds_more_than_its_part_is_a_miss() -> None:
    one = replace(RESULTS.spread.services[0], held=200)
    found = replace(RESULTS, spread=replace(RESULTS.spread, services=[one, RESULTS.spread.services[1]]))
    assert [target.measured for target in targets(found) if not target.met] == ["2 x"]


@pytest.mark.parametrize("name", ["plan", "simulation", "haproxy"])
def test_the_page_has_the_marks_of_every_section_alone_on_their_lines(name: str) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert lines.count(f"<!-- {name} -->") == lines.count(f"<!-- /{name} -->") == 1
    assert lines.index(f"<!-- {name} -->") < lines.index(f"<!-- /{name} -->")


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed")
def test_haproxy_understands_the_configuration_on_the_page(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8").partition("<!-- haproxy -->\n")[2].partition("<!-- /haproxy -->")[0]
    path = tmp_path / "haproxy.cfg"
    path.write_text(textwrap.dedent(text))
    checked = subprocess.run(
        [str(shutil.which("haproxy")), "-c", "-f", str(path)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
