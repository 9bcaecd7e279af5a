"""Where compiled kernels are cached. Each test runs its own process, next to a copy of the kernels."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.compiler import SOURCES, cache_folder
from kernels.registry import ALGORITHMS, load

ASK = "import numba, kernels.compiler; print(numba.config.CACHE_DIR)"
NO_SUCH_USER = "import pwd; pwd.getpwuid = {}.__getitem__; "
COMPILE = "from kernels.feature_hash import key_of; key_of('a')"
COUNT = "; from kernels.feature_hash import hash_name; print('found', *map(len, hash_name.stats[1:]), 'compiled')"
USE_ALGORITHMS = """
import sys
import numpy as np
from kernels.learner import options
from kernels.learner.totals import new_totals
from kernels.registry import load
from kernels.table.rows import LEAST_BITS, table_size

settings = np.zeros(options.SIZE)
settings[[options.ETA, options.KEEP, options.COST_POSITIVE, options.LIMIT]] = 1.0, 1.0, 1.0, 9.0
keys, values, labels, starts = np.array([1, 2], np.uint64), np.ones(2), np.ones(1), np.array([0, 2])
for name in sys.argv[1:]:
    algorithm = load(name)
    model = np.zeros(table_size(LEAST_BITS, 2)), np.zeros((0, 0)), new_totals(LEAST_BITS)
    algorithm.learn(*model, keys, values, 1.0, settings)
    score, several = algorithm.score(*model, keys, values, settings, np.empty(2)), np.empty(1)
    algorithm.scores(*model, keys, values, starts, settings, several)
    algorithm.stream(*model, keys, values, starts, labels, settings, np.empty(1), 0)
    algorithm.survey(*model, settings, *np.empty((3, 2)))
    entries = [getattr(algorithm, entry) for entry in ("score", "scores", "learn", "stream", "survey")]
    print(name, score, several[0], "compiled", sum(sum(entry.stats.cache_misses.values()) for entry in entries))
"""
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]  # root without its privileges


class Copy:
    """A copy of the kernels, with a home and a temporary folder next to it."""

    def __init__(self, folder: Path) -> None:
        self.kernels, self.home, self.temporary = folder / "kernels", folder / "home", folder / "temporary"
        shutil.copytree(SOURCES, self.kernels, ignore=shutil.ignore_patterns("__pycache__"))
        self.prefix: list[str] = []
        self.home.mkdir()
        self.temporary.mkdir()
        self.environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | {
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, code: str = ASK) -> Path:
        """Run Python next to the copy; return the path that it prints."""
        return Path(self.output(code))

    def output(self, code: str, *arguments: str) -> str:
        """Run Python next to the copy; return its output."""
        command = [*self.prefix, sys.executable, "-c", code, *arguments]
        done = subprocess.run(
            command, cwd=self.kernels.parent, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def protect(self, folder: Path) -> None:
        """Make a folder and everything in it read-only."""
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555)
        if os.geteuid() == 0:
            self.prefix = POWERLESS

    def block(self) -> None:
        """Prevent writing next to the sources, also for root: a file takes the place of the folder."""
        (self.kernels / "__pycache__").touch()


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_compiled_kernels_are_cached_beside_their_sources(copy: Copy) -> None:
    assert copy.run().parent == copy.kernels / "__pycache__"


def test_equal_sources_have_a_folder_of_the_same_name_in_any_location(copy: Copy) -> None:
    assert copy.run().name == cache_folder().name


@pytest.mark.parametrize("source", ["learner/maths.py", "algorithms/ssol.py"])
def test_a_change_in_a_source_changes_the_folder(copy: Copy, source: str) -> None:
    with (copy.kernels / source).open("a", encoding="utf-8") as changed:
        changed.write("# changed\n")
    assert copy.run().name != cache_folder().name


def test_a_new_source_changes_the_folder(copy: Copy) -> None:
    (copy.kernels / "algorithms" / "new.py").touch()
    assert copy.run().name != cache_folder().name


def test_a_renamed_source_changes_the_folder(copy: Copy) -> None:
    (copy.kernels / "feature_hash.py").rename(copy.kernels / "renamed.py")
    assert copy.run().name != cache_folder().name


def test_the_operator_can_choose_the_location_of_the_folder(copy: Copy, tmp_path: Path) -> None:
    copy.environment["NUMBA_CACHE_DIR"] = str(tmp_path / "chosen")
    assert copy.run() == tmp_path / "chosen" / cache_folder().name


def test_compiled_code_is_cached_where_the_operator_chose(copy: Copy, tmp_path: Path) -> None:
    copy.environment["NUMBA_CACHE_DIR"] = str(tmp_path / "chosen")
    copy.run(COMPILE)
    assert list((tmp_path / "chosen" / cache_folder().name).rglob("feature_hash.hash_name-*.nbi"))


@pytest.mark.e2e
def test_entries_of_several_algorithms_are_loaded_from_disk_and_not_confused(copy: Copy) -> None:
    """Each process numbers the functions that it compiles, so functions of two processes can have the same number."""
    assert copy.output(USE_ALGORITHMS, "cpa") == "cpa 1.0 1.0 compiled 5"
    assert copy.output(USE_ALGORITHMS, "cs-ogd") == "cs-ogd 2.0 2.0 compiled 5"
    both = ["cs-ogd 2.0 2.0 compiled 0", "cpa 1.0 1.0 compiled 0"]
    assert copy.output(USE_ALGORITHMS, "cs-ogd", "cpa").splitlines() == both


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_algorithm_is_compiled_under_the_name_of_its_file(algorithm: str) -> None:
    assert load(algorithm).learn.__qualname__ == f"{ALGORITHMS[algorithm].split('.')[0]}.learn"


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write to every folder")
@pytest.mark.parametrize(("is_warm", "count"), [(True, "found 1 0 compiled"), (False, "found 0 1 compiled")])
def test_a_read_only_folder_is_read(copy: Copy, tmp_path: Path, is_warm: bool, count: str) -> None:
    chosen = tmp_path / "chosen"
    copy.environment["NUMBA_CACHE_DIR"] = str(chosen)
    if is_warm:
        copy.run(COMPILE)
    chosen.mkdir(exist_ok=True)
    copy.protect(chosen)
    before = sorted(chosen.rglob("*"))
    assert copy.run(COMPILE + COUNT) == Path(count)
    assert sorted(chosen.rglob("*")) == before


def test_beside_read_only_sources_the_home_folder_is_used(copy: Copy) -> None:
    copy.block()
    assert copy.run().parent == copy.home / ".cache" / "sluice"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_a_read_only_folder_of_sources_is_not_written_to(copy: Copy) -> None:
    (copy.kernels / "__pycache__").mkdir(mode=0o500)
    assert copy.run().parent == copy.home / ".cache" / "sluice"


def test_as_a_last_resort_a_private_temporary_folder_is_used(copy: Copy) -> None:
    copy.block()
    (copy.home / ".cache").touch()
    assert copy.run().parent.parent == copy.temporary


def test_a_user_without_a_home_can_use_the_kernels(copy: Copy) -> None:
    del copy.environment["HOME"]
    assert copy.run(NO_SUCH_USER + ASK).parent == copy.kernels / "__pycache__"


def test_a_user_without_a_home_gets_a_private_temporary_folder(copy: Copy) -> None:
    copy.block()
    del copy.environment["HOME"]
    assert copy.run(NO_SUCH_USER + ASK).parent.parent == copy.temporary


def test_a_world_writable_folder_is_not_used(copy: Copy) -> None:
    (copy.kernels / "__pycache__").mkdir()
    (copy.kernels / "__pycache__").chmod(0o777)
    assert copy.run().parent == copy.home / ".cache" / "sluice"


def test_compiled_code_in_a_world_writable_folder_is_not_used(copy: Copy) -> None:
    copy.run().chmod(0o777)
    assert copy.run().parent == copy.home / ".cache" / "sluice"


def test_with_a_permissive_umask_a_private_folder_is_used(copy: Copy) -> None:
    copy.run("import os; os.umask(0); " + ASK)
    assert copy.run("import os; os.umask(0); " + ASK).parent.parent == copy.temporary


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a folder")
def test_a_folder_of_another_user_is_not_used(copy: Copy) -> None:
    os.chown(copy.run(), 12345, -1)
    assert copy.run().parent == copy.home / ".cache" / "sluice"


def test_a_chosen_folder_that_is_world_writable_is_an_error(copy: Copy, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    copy.environment["NUMBA_CACHE_DIR"] = str(chosen)
    copy.run().chmod(0o777)
    with pytest.raises(AssertionError, match="PermissionError: NUMBA_CACHE_DIR: others can write to"):
        copy.run()


def test_an_own_folder_in_a_sticky_shared_one_is_used(copy: Copy, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    copy.environment["NUMBA_CACHE_DIR"] = str(shared)
    assert copy.run().parent == shared
    shared.chmod(0o777)
    with pytest.raises(AssertionError, match="PermissionError"):
        copy.run()
