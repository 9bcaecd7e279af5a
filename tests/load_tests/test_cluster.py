"""The whole simulation, in its quick form: real nodes and services come and go, and nothing is lost or left behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from load_tests.cluster.__main__ import run
from load_tests.cluster.page import simulation_section
from load_tests.cluster.results import Results
from load_tests.cluster.sizes import QUICK
from tests.processes import command_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return run(folder, QUICK)


def test_no_acknowledged_label_is_lost_or_learnt_twice_in_any_step(results: Results) -> None:
    steps = (results.spread, results.added, results.killed, results.failed_over, results.resharded, results.agreed)
    found = [step.checked for step in steps]
    assert [(checked.lost, checked.twice, checked.broken) for checked in found] == [(0, 0, 0)] * len(found)
    assert found[-1].acknowledged > found[0].acknowledged == QUICK.tenants * QUICK.labels_each


def test_digests_and_scores_are_the_same_wherever_a_tenant_is_asked(results: Results) -> None:
    steps = (results.added, results.killed, results.hot, results.agreed)
    assert [step.differing for step in steps] == [0] * len(steps)
    assert results.agreed.sample == QUICK.sample


def test_a_service_holds_its_own_tenants_and_no_others(results: Results) -> None:
    assert [service.held for service in results.spread.services] == [
        service.home_of for service in results.spread.services
    ]
    assert sum(service.held for service in results.spread.services) == QUICK.tenants
    assert results.added.held == results.added.moved


def test_the_tenants_of_a_killed_service_are_answered_by_others(results: Results) -> None:
    assert results.killed.answered == results.killed.tenants > 0


def test_predictions_go_on_while_a_primary_is_away_and_what_its_replica_lacked_is_put_back(results: Results) -> None:
    found = results.failed_over
    assert found.predictions_refused == 0
    assert found.its_own.refused > 0  # otherwise nothing was shown
    assert found.put_back > 0
    assert found.rescued == 0


def test_the_page_tells_every_step(results: Results) -> None:
    text = simulation_section(results)
    assert [f"### {number}. " in text for number in range(1, 9)] == [True] * 8


@pytest.mark.usefixtures("results")
def test_every_process_has_ended(folder: Path) -> None:
    assert [command for command in _commands() if str(folder) in command] == []


def _commands() -> Iterator[str]:
    return (command_of(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit())
