"""The soak test in its shortest form: restarts and a failover within half a minute of load, and nothing is left."""

import re
import signal
from pathlib import Path

import pytest

from tests.load_tests.commands import PATIENCE_SECONDS, ROOT, Command

PERFORMANCE = ROOT / "docs" / "performance.md"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(int(PATIENCE_SECONDS) + 60)]


def soak(folder: Path) -> Command:
    return Command(folder, "soak", "--seconds", "36")


def test_restarts_and_a_failover_lose_no_label_and_leave_all_services_the_same(tmp_path: Path) -> None:
    page = PERFORMANCE.read_text()
    with soak(tmp_path) as command:
        code = command.wait()
        verdicts = dict(re.findall(r"^\| (.+?) \| .+ \| (\S.*?) \|$", command.output, re.MULTILINE))
        assert code == 0, command.output
        assert verdicts["Acknowledged labels that their tenant's log does not have"] == "yes"
        assert verdicts["Labels that a log has more than once"] == "yes"
        assert verdicts["Tenants on whose digest services, a fresh one and a replay differ"] == "yes"
        assert [verdicts[text] for text in verdicts if text.startswith("Memory")] == ["**not known**"] * 2
        assert "| restarts by SIGTERM |" in command.output
        assert "| restarts by kill -9 |" in command.output
        (appended,) = re.findall(r"services appended again \| ([\d,]+) \|", command.output)
        assert int(appended.replace(",", "")) > 0
        assert command.left() == []
    assert PERFORMANCE.read_text() == page


@pytest.mark.parametrize(("sign", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 1)])
def test_a_run_that_is_interrupted_leaves_nothing(tmp_path: Path, sign: signal.Signals, expected: int) -> None:
    with soak(tmp_path) as command:
        assert command.interrupt_after(": kill -9", sign) == expected, command.output
        assert command.left() == []
