"""The whole study in its quick form, twice: the same numbers, the same page, the same pictures."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.paper.report.claims import CLAIMS
from tests.data import DATA

pytestmark = pytest.mark.e2e
TIMED = re.compile(r"^(\| .* ns.*|- Duration: .*|.*ns per non-zero.*|\| FSOL is the fastest.*)$", re.MULTILINE)
PICTURES_OF_TIME = {"time.svg"}


def study(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "experiments", "--quick", "--work", str(folder), *options],
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    pytest.importorskip("matplotlib")
    pytest.importorskip("scipy")
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    for folder, processes in zip(folders, ("2", "3"), strict=True):  # so that tasks end in another order
        done = study(folder, "--processes", processes)
        assert done.returncode == 0, done.stderr
        assert "left" in done.stderr
    return folders


def test_a_second_run_finds_the_same_numbers_and_pictures(twice: list[Path]) -> None:
    one, other = (found_in(folder) for folder in twice)
    assert len(one) > 10  # and more with the data that may be absent
    assert one == other
    page, again = ((folder / "reproduction.md").read_text(encoding="utf-8") for folder in twice)
    assert TIMED.sub("", page) == TIMED.sub("", again)
    pictures = pictures_in(twice[0])
    assert pictures == pictures_in(twice[1])
    assert set(re.findall(r"\(reproduction/([^)]+)\)", page)) == pictures.keys() | PICTURES_OF_TIME


def test_every_claim_of_the_paper_is_judged(twice: list[Path]) -> None:
    page = (twice[0] / "reproduction.md").read_text(encoding="utf-8")
    for claim in CLAIMS if DATA.exists() else ():
        section = page.partition(f"<!-- claim: {claim} -->")[2].partition("<!-- /claim")[0]
        assert section.count("| set | measured | holds |") == 2


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    command = [sys.executable, "-m", "experiments", "--quick", "--work", str(tmp_path), "--only", "synthetic"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stderr is not None
        next(line for line in running.stderr if "[3/" in line)
        os.killpg(running.pid, signal.SIGKILL)
    time.sleep(0.5)
    done = study(tmp_path, "--only", "synthetic")
    assert done.returncode == 0, done.stderr
    assert "were done before" in done.stderr
    assert "tasks had been done by an earlier run" in (tmp_path / "reproduction.md").read_text(encoding="utf-8")


def test_a_set_of_ones_own_takes_part(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "mine.svm"
    file.write_text("".join(f"{1 if k % 3 else -1} {1 + k % 3}:1 {4 + k % 7}:0.5\n" for k in range(300)))
    done = study(tmp_path / "work", "--only", "none", "--given", f"mine={file}")
    assert done.returncode == 0, done.stderr
    assert "sparsity-mine-wider.svg" in (tmp_path / "work" / "reproduction.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("given", ["mine", "mine=absent.svm", "=a.svm", "mine=a,b,c"])
def test_a_set_that_cannot_be_read_is_refused_by_name(tmp_path: Path, given: str) -> None:
    done = study(tmp_path, "--given", given)
    assert done.returncode == 2
    assert given in done.stderr or "absent.svm" in done.stderr


def found_in(folder: Path) -> dict[str, list[bytes]]:
    """What was found, by the names of the tasks, which may be the same for two; those of times are left out."""
    found: dict[str, list[bytes]] = {}
    for file in [*folder.glob("results/*.json"), *folder.glob("sets-*/*.json")]:
        if not file.name.startswith("timing-"):
            found.setdefault(file.name.rpartition("-")[0], []).append(file.read_bytes())
    return {name: sorted(each) for name, each in found.items()}


def pictures_in(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in (folder / "reproduction").iterdir()
        if path.name not in PICTURES_OF_TIME
    }
