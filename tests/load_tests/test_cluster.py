"""The simulation of a cluster in its quick form: nodes and services come and go, and nothing is lost or left behind."""

from pathlib import Path

import pytest

from load_tests.cluster.__main__ import run
from load_tests.cluster.page import Results, report
from load_tests.harness.sizes import QUICK
from tests.processes import command_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return run(folder, QUICK)


def test_labels_digests_and_predictions_survive_every_step(results: Results) -> None:
    kept = ("lost", "learnt twice", "differ", "digest", "answer", "refused", "500", "file", "move between")
    judged = [target for target in report(results, "").targets if any(word in target.text for word in kept)]
    assert [target for target in judged if not target.met] == []
    assert len(judged) == 16
    assert results.reloaded.sample == QUICK.sample
    assert results.reloaded.checked.acknowledged > QUICK.cluster_tenants * QUICK.first_labels


def test_a_service_holds_its_own_tenants_and_no_others(results: Results) -> None:
    services = results.spread.services
    assert [service.held for service in services] == [service.home_of for service in services]
    assert sum(service.held for service in services) == QUICK.cluster_tenants
    assert results.added.held == results.added.moved


def test_the_failover_loses_labels_that_services_append_again(results: Results) -> None:
    assert results.failed_over.labels[0].refused > 0
    assert results.failed_over.appended_again > 0


@pytest.mark.usefixtures("results")
def test_every_process_has_ended(folder: Path) -> None:
    commands = (command_of(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    assert [command for command in commands if str(folder) in command] == []
