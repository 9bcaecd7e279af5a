"""The simulation of a cluster in its quick form: nodes and services come and go, and nothing is lost or left behind."""

from pathlib import Path

import pytest

from load_tests.cluster.__main__ import report, run
from load_tests.cluster.figures import Step
from load_tests.cluster.store_steps import APPENDED
from load_tests.harness.sizes import QUICK
from tests.processes import command_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def steps(folder: Path) -> dict[str, Step]:
    return run(folder, QUICK)


def test_labels_digests_and_predictions_survive_every_step(steps: dict[str, Step]) -> None:
    counts = [target for target in report(steps, "").targets if target.wanted == "none"]
    assert [target for target in counts if not target.met] == []
    assert len(counts) == 17
    assert steps["Loaded from nothing"]["tenants compared"] == QUICK.sample
    added = steps["A service is added"]
    assert added["tenants in the memory of the new service then"] == added["tenants that move to the new service"]
    assert steps["A primary of the cluster is killed"][APPENDED] > 0


@pytest.mark.usefixtures("steps")
def test_every_process_has_ended(folder: Path) -> None:
    commands = (command_of(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    assert [command for command in commands if str(folder) in command] == []
