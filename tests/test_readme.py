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
STEPS = re.findall(r"^    \$ (curl .*)\n    (\{.*\})$", README, re.MULTILINE)

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def curl() -> str:
    return shutil.which("curl") or pytest.skip("curl is not installed")


def test_the_curl_lines_print_what_the_readme_shows(curl: str, tmp_path: Path) -> None:
    assert len(STEPS) == 3
    shown = [json.loads(answer) for _, answer in STEPS]
    with Service(tmp_path).start() as service:
        ids: dict[str, str] = {}
        for (command, _), expected in zip(STEPS, shown, strict=True):
            answer = run(curl, command, service.port, ids)
            if expected.get("prediction_id"):
                ids[expected["prediction_id"]] = answer["prediction_id"]
            assert without_ids(answer) == without_ids(expected)
    assert shown[2]["score"] > shown[0]["score"], "the score has moved"


def run(curl: str, command: str, port: int, ids: dict[str, str]) -> dict[str, Any]:
    """Run a line of the README against another port, with the ids that this service gave."""
    for known, real in ids.items():
        command = command.replace(known, real)
    where, body = re.fullmatch(r"curl -s localhost:8000(/\w+) --json '(.*)'", command).groups()  # type: ignore[union-attr]
    line = [curl, "-s", f"127.0.0.1:{port}{where}", "--json", body]
    answer: dict[str, Any] = json.loads(subprocess.run(line, check=True, capture_output=True, timeout=20).stdout)
    return answer


def without_ids(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in {"prediction_id", "feedback_id"}}
