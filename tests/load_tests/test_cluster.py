"""The simulation of a cluster in its quick form: nodes and services come and go, and nothing is lost or left behind."""

import asyncio
from pathlib import Path

import pytest

from load_tests.cluster.__main__ import report, run
from load_tests.cluster.store_steps import APPENDED
from load_tests.harness.sizes import QUICK
from tests.processes import command_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_labels_digests_and_predictions_survive_every_step_and_every_process_ends(tmp_path: Path) -> None:
    steps = asyncio.run(run(tmp_path, QUICK))
    counts = [target for target in report(steps, "").targets if target.wanted == "none"]
    assert [target for target in counts if not target.met] == []
    assert len(counts) == 17
    assert steps["Loaded from nothing"].values["tenants compared"] == QUICK.sample
    added = steps["A service is added"].values
    assert added["tenants in the memory of the new service then"] == added["tenants that move to the new service"]
    assert steps["A primary of the cluster is killed"].values[APPENDED]
    commands = (command_of(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    assert [command for command in commands if str(tmp_path) in command] == []
