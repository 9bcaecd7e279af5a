"""The first lines that a user types must print what the README shows."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.services import Service

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^    \$ (printf .*|curl .*)\n(?:    (\{.*\})\n)?", README, re.MULTILINE)
IDS = {"prediction_id", "feedback_id"}

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def _curl() -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")


@pytest.mark.usefixtures("_curl")
def test_the_curl_lines_print_what_the_readme_shows(tmp_path: Path) -> None:
    assert len(STEPS) == 8
    shown: list[Any] = [json.loads(answer) if answer else None for _, answer in STEPS]
    with Service(tmp_path).start() as service:
        ids: dict[str, str] = {}
        for (command, _), expected in zip(STEPS, shown, strict=True):
            printed = run(command, service.port, ids, tmp_path)
            if expected is None:
                continue
            answer = json.loads(printed)
            if expected.get("prediction_id"):
                ids[expected["prediction_id"]] = answer["prediction_id"]
            assert without_ids(answer) == without_ids(expected)
    assert shown[2]["score"] > shown[0]["score"], "the score has moved"


def run(command: str, port: int, ids: dict[str, str], folder: Path) -> str:
    """Run a line of the README against another port, with the ids that this service gave."""
    for known, real in ids.items():
        command = command.replace(known, real)
    line = ["bash", "-c", command.replace("localhost:8000", f"127.0.0.1:{port}")]  # our own lines, as a user types them
    return subprocess.run(line, check=True, capture_output=True, timeout=20, cwd=folder, text=True).stdout


def without_ids(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in IDS}
