"""Rules for the files of the project: the locks, the Makefile, the lint settings, the size of a module."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT)["project"]
LOCKS = sorted((ROOT / ".ci").glob("requirements*.txt"))
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
SUPPORTED = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
# The first Python of each minor version, and Debian's: redis-py needs another package before 3.11.3.
FULL_VERSIONS = ["3.11.2", *(f"{version}.0" for version in SUPPORTED)]
CODE_FOLDERS = ("app", "experiments", "kernels", "load_tests", "tests")

each_version = pytest.mark.parametrize("version", FULL_VERSIONS)
each_lock = pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)


def test_there_is_a_lock_for_running_for_developing_and_for_benchmarks() -> None:
    assert {lock.stem for lock in LOCKS} == {"requirements", "requirements-dev", "requirements-bench"}


@each_lock
def test_a_lock_names_no_address(lock: Path) -> None:
    assert not re.findall(r".*://.*|.* @ .*|^-.*", lock.read_text(encoding="utf-8"), re.MULTILINE)


@each_lock
def test_every_requirement_of_a_lock_has_one_version_and_a_hash(lock: Path) -> None:
    for name, requirement in requirements(lock).items():
        assert re.match(r"==\S+( ;.*)? --hash=sha256:[0-9a-f]{64}( |$)", requirement), name


@each_lock
def test_a_lock_has_the_versions_of_the_project(lock: Path) -> None:
    locked = requirements(lock)
    for dependency in PROJECT["dependencies"]:
        name, version = dependency.split("==")
        assert locked[name].startswith(f"=={version} "), f"{lock.name} is behind pyproject.toml: run `make lock`"


@each_lock
def test_two_locks_never_differ_in_a_version(lock: Path) -> None:
    widest = versions(ROOT / ".ci" / "requirements-bench.txt")
    assert versions(lock).items() <= widest.items()


@each_version
def test_the_lock_has_what_its_packages_need_on_every_supported_python(version: str) -> None:
    lock = ROOT / ".ci" / "requirements-dev.txt"
    locked = {canonical(name) for name in requirements(lock) if applies(f"{name}{requirements(lock)[name]}", version)}
    needed = {each for name in locked for each in dependencies(name, version)}
    assert needed
    assert needed <= locked


@pytest.mark.e2e  # needs the index
@each_version
@each_lock
def test_every_package_has_a_locked_wheel_for_every_supported_python(lock: Path, version: str, tmp_path: Path) -> None:
    offer = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-config", "pip", "install", "--dry-run"]
    only = ["--require-hashes", "--only-binary", ":all:", "--python-version", version, "--target", str(tmp_path)]
    done = subprocess.run([*offer, *only, "-r", str(lock)], check=False, capture_output=True, text=True, timeout=120)
    if re.search("error sending request|Failed to fetch|Could not connect", done.stderr):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("extra", ["dev", "bench"])
def test_an_extra_is_locked(extra: str) -> None:
    lock = ROOT / ".ci" / f"requirements-{extra}.txt"
    assert set(PROJECT["optional-dependencies"][extra]) <= requirements(lock).keys()


def test_every_make_target_has_a_help_line() -> None:
    targets = re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE)
    assert targets
    assert [target for target in targets if not re.search(rf"^{target}:.*## \w", MAKEFILE, re.MULTILINE)] == []


def test_every_make_target_is_phony() -> None:
    phony = re.search(r"^\.PHONY: (.*)", MAKEFILE, re.MULTILINE)
    assert phony
    assert phony[1].split() == re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE)


def test_make_requires_the_same_python_as_the_project() -> None:
    major, minor = map(int, PROJECT["requires-python"].removeprefix(">=").split("."))
    assert f"sys.version_info < ({major}, {minor})" in MAKEFILE
    assert sys.version_info >= (major, minor)


def test_ci_tests_every_supported_python() -> None:
    assert WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"] == SUPPORTED
    assert SUPPORTED[0] == PROJECT["requires-python"].removeprefix(">=")


def test_every_lint_rule_that_is_ignored_has_its_reason() -> None:
    settings = PYPROJECT[PYPROJECT.index("[tool.ruff.lint]") : PYPROJECT.index("[tool.mypy]")]
    ignored = re.findall(r'^    "[A-Z]+\d*".*', settings, re.MULTILINE)
    assert ignored
    assert [line for line in ignored if not re.search(r"  # \w", line)] == []


def test_a_module_fits_in_300_lines() -> None:
    sources = [source for folder in CODE_FOLDERS for source in (ROOT / folder).rglob("*.py")]
    assert sources
    assert [str(source) for source in sources if len(source.read_text(encoding="utf-8").splitlines()) > 300] == []


def requirements(lock: Path) -> dict[str, str]:
    """Map the name of each requirement to the rest of its (joined) line."""
    lines = lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    found = [re.match(r"([a-zA-Z0-9._-]+)\s*(.*)", line) for line in lines]
    return {match[1]: re.sub(r"\s+", " ", match[2]) for match in found if match}


def dependencies(name: str, version: str) -> set[str]:
    """Return what an installed package needs on that Python."""
    try:
        needed = [Requirement(line) for line in requires(name) or []]
    except PackageNotFoundError:
        return set()  # of another Python: nothing is known about it here
    return {canonical(each.name) for each in needed if applies(str(each), version)}


def applies(line: str, version: str) -> bool:
    marker = Requirement(line.partition(" --hash")[0]).marker
    python = {"python_version": version.rpartition(".")[0], "python_full_version": version, "extra": ""}
    return marker is None or marker.evaluate(python)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def versions(lock: Path) -> dict[str, str]:
    return {name: requirement.split()[0] for name, requirement in requirements(lock).items()}
