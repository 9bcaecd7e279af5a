"""Every command that README.md, docs/ and the other pages show works as shown."""

import json
import lzma
import re
import shlex
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from app.datasets.synthetic_urls import synthetic_urls
from tests.manual import PAGES, ROOT, Step, inline_commands, steps_of
from tests.reviews import queue
from tests.services import Service, wait_until

Output = pytest.CaptureFixture[str]
BIN = Path(sys.executable).parent
NOT_RUN = {  # programs whose commands are not run, and why
    "docker": "needs Docker; tests/deployment checks the Dockerfile and the Compose file without it",
    "make": "takes long, or runs these tests; below, make says what it would do",
    "openapi-python-client": "tests/api/test_generated_client.py generates a client and uses it",
}
NOT_HERE = {  # commands that do not work beside a running service, and where they are run
    "sluice repair --store": "tests/cli/test_repair.py",
}
RUN = {"curl", "export", "printf", "sluice"}
IDS = {"prediction_id", "feedback_id"}
EXACT = "README.md"  # its answers are compared value by value; those of other pages may be shortened
STEPS = {page.relative_to(ROOT).as_posix(): steps_of(page) for page in PAGES}
SHOWING = [name for name, steps in STEPS.items() if any(step.program in RUN for step in steps)]
OURS = re.compile(r"sluice [a-z]+\b").match
MAKE = re.compile(r"make (?:[A-Z]+=\S+ )*([a-z0-9-]+)")

pytestmark = pytest.mark.timeout(120)


def test_the_pages_show_commands() -> None:
    assert {"README.md", "docs/api.md", "docs/operations.md"} <= set(SHOWING)
    assert len(STEPS["README.md"]) > 15


@pytest.mark.parametrize("name", [name for name, steps in STEPS.items() if steps])
def test_every_command_is_run_or_has_a_reason_not_to(name: str) -> None:
    assert [step.command for step in STEPS[name] if step.program not in RUN | NOT_RUN.keys()] == []


@pytest.mark.parametrize("name", SHOWING)
def test_the_commands_of_a_page_work_as_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    with Service(tmp_path / "service").start() as service:
        session = Session(service, tmp_path / "here", monkeypatch, capsys, is_exact=name == EXACT)
        for step in STEPS[name]:
            if step.program in RUN and step.command not in NOT_HERE:
                session.play(step)


def test_make_knows_every_target_that_a_page_names() -> None:
    named = {command for page in PAGES for command in inline_commands(page) if command.startswith("make ")}
    named |= {step.command for steps in STEPS.values() for step in steps if step.program == "make"}
    targets = {found[1] for command in named if (found := MAKE.match(command))}
    assert "test" in targets
    asked = ["make", "-n", *sorted(targets)]
    done = subprocess.run(asked, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", sorted({each for page in PAGES for each in inline_commands(page) if OURS(each)}))
def test_the_command_line_has_every_option_that_prose_names(command: str, capsys: Output) -> None:
    words = command.split()
    with pytest.raises(SystemExit, match="0"):
        main([words[1], "--help"])
    known = capsys.readouterr().out
    assert [word for word in words if word.startswith("--") and word not in known] == []


class Session:
    """A shell in which the commands of a page are typed, with the ids and keys that this service gave."""

    def __init__(
        self, service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output, *, is_exact: bool
    ) -> None:
        self.service = service
        self.folder = folder
        self.monkeypatch = monkeypatch
        self.capsys = capsys
        self.is_exact = is_exact
        self.real: dict[str, str] = {  # what a page shows, and what it is here
            "localhost:8000": f"127.0.0.1:{service.port}",
            "127.0.0.1:8000": f"127.0.0.1:{service.port}",
            "redis://redis.internal:6379": service.store_url,
            "SLUICE_HOST=0.0.0.0": "SLUICE_HOST=127.0.0.1",
            "SLUICE_WORKERS=4": "SLUICE_WORKERS=2",
            ".venv/bin/sluice": "sluice",
        }
        self.environment = {"SLUICE_DATA_DIR": str(service.data_dir)}
        self.prepare()

    def prepare(self) -> None:
        """Make the files and tenants that the pages take for granted."""
        self.folder.mkdir()
        lines = (f"{each.label}\t{each.url}\n" for each in islice(synthetic_urls(seed=1, change_every=1000), 300))
        (self.folder / "urls.tsv.xz").write_bytes(lzma.compress("".join(lines).encode()))
        if self.is_exact:
            return
        (self.folder / "mail.eml").write_bytes(b"From: a@example.org\r\nSubject: Hi\r\n\r\nHello.\r\n")
        (self.folder / "examples.ndjson").write_text('{"features": {"a": 1}}\n{"text": "hello"}\n')
        for tenant in ("acme", "demo"):
            assert self.service.feedback(tenant, label=1, features={"a": 1.0}).is_success
        queue(self.service.store_url, "acme", [0.42, 0.3, None], {"token:free": 1.0})
        rescued = self.folder / "data" / "rescued" / "acme-1234-0a1b2c3d.sluice"
        rescued.parent.mkdir(parents=True)
        rescued.write_bytes(self.service.request("GET", "/tenants/acme/export?log=true").content)

    def play(self, step: Step) -> None:
        command = step.command
        for shown, real in self.real.items():
            command = command.replace(shown, real)
        if step.program == "export":
            name, _, value = command.removeprefix("export ").partition("=")
            self.environment[name] = value
        elif "sluice serve" in command:
            self.serve(command)
        else:
            self.compare(step, self.run(command))

    def run(self, command: str) -> str:
        """Run a command in this folder; `sluice` in this process, which need not load the kernels again."""
        if command.startswith("sluice "):
            printed = self.run_sluice(shlex.split(command, comments=True)[1:])
        else:
            line = ["bash", "-c", command]  # as a user types it
            done = subprocess.run(line, check=False, capture_output=True, cwd=self.folder, text=True, timeout=60)
            assert done.returncode == 0, f"{command}\n{done.stderr}"
            printed = done.stdout
        assert '"/problems/' not in printed or '"results"' in printed, f"{command}\n{printed}"
        return printed

    def run_sluice(self, arguments: list[str]) -> str:
        if arguments[0] in {"import", "export", "labels", "retract", "review", "whatif"}:
            arguments += ["--url", self.service.url]
        with self.monkeypatch.context() as patch:
            patch.chdir(self.folder)
            for name, value in self.environment.items():
                patch.setenv(name, value)
            code = main(arguments)
        printed = self.capsys.readouterr()
        assert code == 0, f"{arguments}\n{printed.err}"
        return str(printed.out)

    def compare(self, step: Step, printed: str) -> None:
        if step.answer is not None:
            answer = json.loads(printed)
            for shown, real in (
                (step.answer, answer),
                *zip(step.answer.get("items", ()), answer.get("items", ()), strict=False),
            ):
                for name in IDS & shown.keys() & real.keys():
                    self.real[shown[name]] = real[name]
            if self.is_exact:
                assert without_ids(answer) == without_ids(step.answer), step.command
            else:
                assert has_shape(answer, step.answer), f"{step.command}\nshown: {step.answer}\nprinted: {answer}"
        elif step.shown:
            assert printed.strip(), step.command
        if "sluice keys" in step.command and (made := re.search(r"\bsluice_\S+", printed)):
            if "SLUICE_KEY" not in self.environment or " rotate " in step.command:  # keys for others are only shown
                self.use_key(made[0])
            if shown := re.search(r"key ([0-9a-f]{12}):", "\n".join(step.shown)):
                self.real[shown[1]] = made[0].split("_")[1]

    def use_key(self, key: str) -> None:
        """Use a key for the commands that follow, as soon as the service knows it and demands one."""
        self.environment["SLUICE_KEY"] = key
        self.service.client.headers.pop("X-API-Key", None)
        wait_until(self.is_refused, "the service still needs no key")
        self.service.client.headers["X-API-Key"] = key
        wait_until(lambda: not self.is_refused(), "the service does not know the new key")

    def is_refused(self) -> bool:
        return self.service.status("/tenants/acme") in {401, 429}  # 429: after many wrong keys

    def serve(self, command: str) -> None:
        """Start the service of a page, and use it with the key of the page."""
        served = Service(self.folder / "served", redis_url=self.environment["SLUICE_REDIS_URL"])
        served.command = ("bash", "-c", f"exec env {command.replace('sluice', str(BIN / 'sluice'))}")
        with served.start():
            assert served.predict("acme", features={"a": 1}).status_code == 401
            served.client.headers["Authorization"] = f"Bearer {self.environment['SLUICE_KEY']}"
            assert served.predict("acme", features={"a": 1}).status_code == 200
            assert served.feedback("acme", features={"a": 1}, label=1).status_code == 200
            assert served.status("/tenants/acme") == 200


def without_ids(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in IDS}


def has_shape(printed: object, shown: object) -> bool:
    """Whether everything that is shown was printed, with other values."""
    if isinstance(shown, dict):
        return isinstance(printed, dict) and all(
            name in printed and has_shape(printed[name], value) for name, value in shown.items()
        )
    if isinstance(shown, list):
        return isinstance(printed, list) and (not printed or all(map(has_shape, printed, shown)))
    return True
