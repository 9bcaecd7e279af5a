"""Rules for the files of the project: the locks, the Makefile, the lint settings, the size of a module."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT)["project"]
LOCKS = sorted((ROOT / ".ci").glob("requirements*.txt"))
CODE_FOLDERS = ("app", "experiments", "kernels", "load_tests", "tests")

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


def versions(lock: Path) -> dict[str, str]:
    return {name: requirement.split()[0] for name, requirement in requirements(lock).items()}
