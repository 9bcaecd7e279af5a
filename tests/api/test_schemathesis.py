"""Schemathesis against a real service: requests that the OpenAPI document allows, and others."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from app.auth.keys import ROLES
from tests.services import ROOT, Service, wait_until

# Not asked: whether all data that fits the schema is accepted. Whether a setting fits an algorithm, a file is a model
# or a prediction is still kept is more than a schema can say. And a batch is accepted with bad items in it: each of
# them gets an error in its place.
CONFIG = """
[checks]
positive_data_acceptance.enabled = false
ignored_auth.enabled = {closed}

[[operations]]
include-path-regex = "/batch$"
checks.negative_data_rejection.enabled = false
"""


def asked(
    service: Service, folder: Path, *, key: str | None = None, role: str = ""
) -> subprocess.CompletedProcess[str]:
    program = shutil.which("schemathesis", path=sysconfig.get_path("scripts"))
    assert program
    (folder / "schemathesis.toml").write_text(CONFIG.format(closed=str(key is not None).lower()))
    return subprocess.run(
        [
            program, "run", f"{service.url}/openapi.json", "--max-examples", "25", "--seed", "1",
            "--no-color", "--suppress-health-check", "all", *(("-H", f"Authorization: Bearer {key}") if key else ()),
        ],
        check=False, capture_output=True, text=True, timeout=170, cwd=folder,
        env=os.environ
        | {"SCHEMATHESIS_HOOKS": "tests.api.schemathesis_hooks", "PYTHONPATH": str(ROOT), "ROLE_OF_KEY": role},
    )  # fmt: skip


@pytest.mark.e2e
@pytest.mark.timeout(180)
def test_no_question_has_a_5xx_or_an_undocumented_answer(tmp_path: Path) -> None:
    with Service(tmp_path / "service", auth="open").start() as service:
        done = asked(service, tmp_path)
        assert done.returncode == 0, done.stdout[-6000:]
        assert "Traceback" not in service.whole_log()


@pytest.mark.e2e
@pytest.mark.timeout(180)
@pytest.mark.parametrize("role", ROLES)
def test_a_key_of_one_role_is_answered_where_it_should_be_and_nowhere_else(tmp_path: Path, role: str) -> None:
    with Service(tmp_path / "service", wrong_keys_per_second=0).start() as service:  # most requests are refused
        made = service.post("/keys", {"roles": [role], "tenants": ["*"]}).json()
        wait_until(lambda: service.status("/tenants") == 401, "the first key does not close the door")
        done = asked(service, tmp_path, key=made["secret"], role=role)
        assert done.returncode == 0, done.stdout[-6000:]
        assert "Traceback" not in service.whole_log()
