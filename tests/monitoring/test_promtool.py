"""promtool accepts the configuration, the rules, their cases, and GET /metrics."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.monitoring.files import CASES, FOLDER
from tests.monitoring.prometheus import needs_prometheus
from tests.services import Service

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), needs_prometheus]


def test_the_configuration_is_valid() -> None:
    promtool("check", "config", str(FOLDER / "prometheus.yml"))


@pytest.mark.parametrize("rules", ["recording", "alerts"])
def test_the_rules_are_valid(rules: str) -> None:
    promtool("check", "rules", "--lint=all", "--lint-fatal", str(FOLDER / "rules" / f"{rules}.yml"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_rules_pass_their_cases(path: Path) -> None:
    promtool("test", "rules", str(path))


def test_a_wrong_case_fails(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "rules", tmp_path / "rules")
    alerts = tmp_path / "rules" / "alerts.yml"
    alerts.write_text(alerts.read_text().replace("(sluice_log_lag_seconds) > 30", "(sluice_log_lag_seconds) > 300"))
    with pytest.raises(AssertionError, match="SluiceLogBehind"):
        promtool("test", "rules", str(tmp_path / "rules" / "tests" / "operation.yml"))


def test_the_metrics_of_a_service_follow_the_conventions(tmp_path: Path) -> None:
    with Service(tmp_path, workers=2).start() as service:
        for label in (1, -1):
            service.feedback("acme", features={"a": 1}, label=label)
            service.predict("acme", features={"a": 1})
        promtool("check", "metrics", given=service.request("GET", "/metrics").text)


def promtool(*arguments: str, given: str = "") -> None:
    program = shutil.which("promtool")
    assert program
    done = subprocess.run([program, *arguments], input=given, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout + done.stderr
