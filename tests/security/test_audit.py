"""`make audit` finds vulnerable versions if advisories are available, and says so if they are not."""

import subprocess
from pathlib import Path

import pytest

from tests.services import ROOT

LOCKED = "requirements.txt"
# Replacements for pip-audit, called for the canary and for the lock.
CLOSED = 'echo "ConnectionError" >&2; exit 1'
MIRROR = 'echo "Skip Reason: Dependency not found on PyPI"; exit 0'
CLEAN = """case "$*" in
    *canary*) echo "jinja2 2.11.0 PYSEC-2021-66"; exit 1;;
    *) echo "No known vulnerabilities found";;
esac"""
VULNERABLE = 'echo "x 1.0 PYSEC-2026-1"; exit 1'


def audit(folder: Path, pip_audit: str) -> subprocess.CompletedProcess[str]:
    stand_in = folder / "pip-audit"
    stand_in.write_text(f"#!/bin/sh\n{pip_audit}\n", encoding="ascii")
    stand_in.chmod(0o755)
    command = ["make", "--no-print-directory", "--old-file=.venv/.installed", "audit", f"AUDIT={stand_in}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)


@pytest.mark.parametrize("pip_audit", [CLOSED, MIRROR])
def test_without_advisories_the_audit_is_skipped_in_one_line(tmp_path: Path, pip_audit: str) -> None:
    done = audit(tmp_path, pip_audit)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Audit skipped: ")
    assert done.stdout.count("\n") == 1


def test_with_advisories_the_lock_is_audited(tmp_path: Path) -> None:
    done = audit(tmp_path, CLEAN)
    assert (done.returncode, done.stdout) == (0, "No known vulnerabilities found\n")


def test_a_known_vulnerability_is_an_error(tmp_path: Path) -> None:
    done = audit(tmp_path, VULNERABLE)
    assert done.returncode != 0
    assert "PYSEC-2026-1" in done.stdout


def test_make_check_includes_the_audit() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\ncheck: audit " in makefile
    assert f"--requirement .ci/{LOCKED};" in makefile
