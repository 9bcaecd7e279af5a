"""Builds the image without Docker: paths are mapped into a folder, and RUN lines run on this machine."""

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.deployment.dockerfile import ROOT, Instruction, Stage, context_files, read_stages

OURS: Final = re.compile(r"(?<![\w./-])/(?=(?:opt|build|data)\b)")  # where a path of the image begins
OUTER_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
LEFT_OUT: Final = {
    "useradd": "changes the users of the machine; the fixed uid is used as a number",
    "install": "gives /data to that uid; here the current user owns it",
}
UID: Final = 10001


class Image:
    """The files of the last stage, in `root`; those of the builder are removed, as in the image."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)  # accessible to other users
        self.root, self.temporary, self._folder = folder / "root", folder / "tmp", folder
        self.left_out: set[str] = set()
        self.builder, self.final = read_stages()
        self._make_python(folder / "bin")
        self._make_context(folder / "context")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a process in the image, with nothing of this machine."""
        given = self.final.environment({"PATH": OUTER_PATH})
        return {name: self.mapped(value) for name, value in given.items()} | {
            "HOME": "/nonexistent",
            "TMPDIR": str(self.temporary),
        }

    def build(self) -> None:
        """Build both stages. Copied files keep their path, because scripts contain the path of their interpreter."""
        self.root.mkdir()
        self._do(self.builder)
        self.root.rename(self._folder / "builder")
        self.root.mkdir()
        self._do(self.final)
        for writable in (self.root / "data", self.temporary):
            writable.mkdir()
            if self._is_other_user():
                os.chown(writable, UID, UID)
        self._protect()

    def mapped(self, text: str) -> str:
        """Map every path of the image in a text to this machine."""
        return OURS.sub(f"{self.root}/", text)

    def command(self, words: Sequence[str]) -> list[str]:
        """The command as run by the image's user, without capabilities, as with `cap_drop: ALL`."""
        found = shutil.which(words[0], path=self.environment["PATH"])
        assert found, f"{words[0]} is not in the image"
        if os.geteuid() != 0:
            return [found, *words[1:]]
        dropped = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
        user = [f"--reuid={UID}", f"--regid={UID}", "--clear-groups"] if self._is_other_user() else []
        return [*dropped, *user, found, *words[1:]]

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the image and wait for it."""
        return subprocess.run(
            self.command(words), **self.options(environment), capture_output=True, text=True, check=False, timeout=120
        )

    def options(self, environment: dict[str, str]) -> dict[str, Any]:
        """The working directory and environment of a process of the image."""
        return {"cwd": self.mapped(self.final.one("WORKDIR").rest), "env": self.environment | environment}

    def files(self) -> dict[str, tuple[int, int]]:
        """Every file of the image, with its size and modification time."""
        installed = (self.root / "opt").rglob("*")
        return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in installed}

    def _do(self, stage: Stage) -> None:
        here = self.root
        for instruction in stage.instructions:
            match instruction.name:
                case "WORKDIR":
                    here = Path(self.mapped(instruction.rest))
                    if stage is self.builder:
                        here.mkdir(parents=True)
                case "COPY":
                    self._copy(instruction, here)
                case "RUN":
                    self._run(stage, instruction, here)

    def _copy(self, instruction: Instruction, here: Path) -> None:
        *sources, target = instruction.words
        base = self._folder / "context"
        if sources[0].startswith("--from="):
            base, sources = self._folder / sources[0].removeprefix("--from="), [each[1:] for each in sources[1:]]
        into = here / self.mapped(target)
        for source in sources:
            if (base / source).is_dir():
                shutil.copytree(base / source, into, symlinks=True)
            else:
                place = into / Path(source).name if target.endswith("/") else into
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(base / source, place)

    def _run(self, stage: Stage, instruction: Instruction, here: Path) -> None:
        program = instruction.words[0]
        if program in LEFT_OUT:
            self.left_out.add(program)
            return
        # Of this machine's environment, only the settings of pip are kept: where to find packages.
        outer = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "HOME", "SSL_"))}
        path = {"PATH": f"{self._folder / 'bin'}:{OUTER_PATH}"}
        environment = {name: self.mapped(value) for name, value in stage.environment(path).items()}
        done = subprocess.run(
            ["/bin/sh", "-c", self.mapped(instruction.rest)],
            cwd=here,
            env=outer | path | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"RUN {instruction.rest}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"

    def _make_python(self, folder: Path) -> None:
        """Create `python` as in the base image: the interpreter outside any virtual environment."""
        folder.mkdir()
        (folder / "python").write_text(f'#!/bin/sh\nexec {self._interpreter()} "$@"\n')
        (folder / "python").chmod(0o755)

    def _make_context(self, folder: Path) -> None:
        for path in context_files():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path)

    def _protect(self) -> None:
        """Make all files of the image read-only."""
        for path in [self.root / "opt", *(self.root / "opt").rglob("*")]:
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & ~0o222)

    def unprotect(self) -> None:
        """Make the files writable again, so that they can be removed."""
        for path in [self.root / "opt", *(self.root / "opt").rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)

    def _is_other_user(self) -> bool:
        """Whether root can become the image's user: that user must be able to reach the interpreter."""
        folders = Path(self._interpreter()).resolve().parents
        return os.geteuid() == 0 and all(each.stat().st_mode & stat.S_IXOTH for each in folders)

    @staticmethod
    def _interpreter() -> str:
        return str(getattr(sys, "_base_executable", sys.executable))
