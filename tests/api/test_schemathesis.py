"""A real service, asked everything that its OpenAPI document allows, and a lot that it does not."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.services import ROOT, Service

# Not asked: whether all data that fits the schema is accepted. Whether a setting fits an algorithm, a file is a model
# or a prediction is still kept is more than a schema can say. And a batch is accepted with bad items in it: each of
# them gets an error in its place.
CONFIG = """
[checks]
positive_data_acceptance.enabled = false

[[operations]]
include-path-regex = "/batch$"
checks.negative_data_rejection.enabled = false
"""


@pytest.mark.timeout(180)
def test_no_question_has_a_5xx_or_an_undocumented_answer(tmp_path: Path) -> None:
    program = shutil.which("schemathesis", path=sysconfig.get_path("scripts"))
    assert program
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    with Service(tmp_path / "service").start() as service:
        asked = subprocess.run(
            [
                program, "run", f"{service.url}/openapi.json", "--max-examples", "25", "--seed", "1",
                "--no-color", "--suppress-health-check", "all",
            ],
            check=False, capture_output=True, text=True, timeout=170, cwd=tmp_path,
            env=os.environ | {"SCHEMATHESIS_HOOKS": "tests.api.schemathesis_hooks", "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert asked.returncode == 0, asked.stdout[-6000:]
        assert "Traceback" not in service.whole_log()
