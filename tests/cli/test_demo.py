"""The demo against real services: its own, and one that runs already."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice
from pathlib import Path
from typing import Self

import pytest

from app.cli import main
from app.cli.demo.mails import synthetic_mails
from app.cli.demo.moderators import MODERATORS
from app.cli.demo.replay import CONNECTIONS
from app.features.featurizer import features_of
from tests.processes import command_of
from tests.services import Service, new_client, wait_until

Output = pytest.CaptureFixture[str]
SHORT = ("--examples", "120", "--rate", "400")

pytestmark = pytest.mark.timeout(120)


class Demo:
    """`sluice demo` in its own process, with its own folder for temporary files."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._output = folder / "output"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app", "demo", *arguments],
                env=os.environ | {"TMPDIR": str(self.temporary)} | environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it also when a test fails."""
        if self.process.poll() is None:
            self.end(signal.SIGTERM)

    def output(self) -> str:
        return self._output.read_text()

    def wait_for(self, words: str) -> None:
        wait_until(lambda: words in self.output() or self.process.poll() is not None, f"no output with {words!r}", 60.0)
        assert words in self.output()

    def end(self, number: signal.Signals | None = None) -> int:
        if number is not None:
            self.process.send_signal(number)
        return self.process.wait(60)

    def has_left_nothing(self) -> bool:
        """Neither a folder nor a process: a service has its folder in its environment, a Valkey in its arguments."""
        processes = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return not list(self.temporary.iterdir()) and not any(map(self._is_ours, processes))

    def _is_ours(self, pid: int) -> bool:
        try:
            environment = (Path("/proc") / str(pid) / "environ").read_text(errors="replace")
        except OSError:
            environment = ""
        return str(self.temporary) in environment + command_of(pid)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service")).start() as service:
        yield service


def test_it_starts_a_service_counts_as_the_service_does_and_leaves_nothing(tmp_path: Path) -> None:
    with Demo(tmp_path, *SHORT) as demo:
        assert demo.end() == 0, demo.output()
        shown = re.search(r"shows balanced accuracy (\S+) over 120 labels\.", demo.output())
        counted = re.search(r"Counted here: (\S+) over 120 labels\. They agree\.", demo.output())
        assert shown, demo.output()
        assert counted, demo.output()
        assert shown[1] == counted[1]
        assert demo.has_left_nothing()


@pytest.mark.e2e  # it takes long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_stopped_ends_its_service(tmp_path: Path, number: signal.Signals) -> None:
    with Demo(tmp_path, "--examples", "100000", "--rate", "50") as demo:
        demo.wait_for("labels; of the last")
        assert not demo.has_left_nothing()
        assert demo.end(number) == 130
        assert demo.has_left_nothing()
        assert demo.output().endswith("sluice: stopped\n")


def test_a_service_that_cannot_start_is_reported_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ImportError('this uvicorn is broken')\n")
    with Demo(tmp_path, PYTHONPATH=str(tmp_path)) as demo:
        assert demo.end() == 1
        assert "sluice: the service could not start: " in demo.output()
        assert "this uvicorn is broken" in demo.output()
        assert demo.has_left_nothing()


def test_a_running_service_keeps_what_the_demo_taught_it(service: Service, capsys: Output) -> None:
    assert main(["demo", "--url", service.url, "--tenant", "kept", *SHORT]) == 0
    shown = service.tenant("kept")
    assert shown["counts"]["examples"] == 120
    assert shown["served"]["examples"] == 120
    assert f"balanced accuracy {100 * shown['balanced_accuracy']:.4f}% over 120 labels" in capsys.readouterr().out
    assert service.is_ready()


def test_of_an_existing_tenant_only_this_run_is_compared(service: Service, capsys: Output) -> None:
    service.feedback("old", label=1, features={"a": 1.0})
    assert main(["demo", "--url", service.url, "--tenant", "old", *SHORT]) == 0
    printed = capsys.readouterr().out
    assert "over 121 labels, of which 120 of this run" in printed
    assert "They agree." in printed


def test_the_largest_weights_are_shown_by_name(service: Service, capsys: Output) -> None:
    assert main(["demo", "--url", service.url, "--tenant", "named", "--examples", "400", "--rate", "400"]) == 0
    printed = capsys.readouterr().out
    assert "now the attackers change their tricks" in printed
    assert re.search(r"^feature +weight +indicates$", printed, re.MULTILINE)
    assert re.search(
        r"^Flagged: https?://\S+\nscore \+\d\.\d{4}; the largest contributions:\n  [+-]\d", printed, re.MULTILINE
    )


def test_rates_that_are_not_defined_are_dashes(service: Service, capsys: Output) -> None:
    assert main(["demo", "--url", service.url, "--tenant", "two", "--examples", "2", "--rate", "100"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^all labels +- +- +- +100\.00 +2 +0$", printed, re.MULTILINE)
    assert "shows balanced accuracy - over 2 labels" in printed
    assert not re.search(r"\bnan\b", printed, re.IGNORECASE)


def test_the_figures_after_the_last_item_include_every_label(service: Service, capsys: Output) -> None:
    assert main(["demo", "--url", service.url, "--tenant", "few", "--examples", "7", "--rate", "100"]) == 0
    assert "Counted here: " in capsys.readouterr().out
    assert service.tenant("few")["counts"]["examples"] == 7


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://127.0.0.1:9", "no service answers at http://127.0.0.1:9: Connection refused"),
        ("nonsense", "'nonsense' is not the address of a service; write it as http://host:port"),
        ("http://127.0.0.1:port", "is not the address of a service"),
    ],
)
def test_a_wrong_address_gets_a_sentence(capsys: Output, url: str, sentence: str) -> None:
    assert main(["demo", "--url", url]) == 1
    assert sentence in capsys.readouterr().err


def test_a_server_that_is_not_sluice_is_recognised(capsys: Output) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:  # it knows no method: 501, in HTML
        threading.Thread(target=other.serve_forever, daemon=True).start()
        assert main(["demo", "--url", f"http://127.0.0.1:{other.server_port}"]) == 1
        other.shutdown()
    assert "/readyz answered 501" in capsys.readouterr().err


def test_a_console_can_be_tried_until_the_demo_is_stopped(tmp_path: Path) -> None:
    with Demo(tmp_path, "--console", "--examples", "150", "--rate", "50") as demo, new_client() as client:
        demo.wait_for("Ctrl-C stops it.")
        found = re.search(r"The console: (http://\S+)/console\n", demo.output())
        assert found, demo.output()
        url = found[1]
        assert client.get(f"{url}/console/tenants/demo/review").status_code == 200
        shown = client.get(f"{url}/tenants/demo").json()
        assert shown["counts"]["positives"] > 0
        assert shown["review"]["waiting"] > 0
        labels = client.get(f"{url}/tenants/demo/labels", params={"limit": 1000}).json()["labels"]
        assert {each["moderator"] for each in labels} == {each.name for each in MODERATORS}
        mail = client.get(f"{url}/tenants/demo-mail/labels").json()["labels"][0]["prediction_id"]
        assert (
            client.get(f"{url}/predictions/{mail}", params={"tenant": "demo-mail"}).json()["input"]["kind"] == "email"
        )
        wait_until(lambda: client.get(f"{url}/tenants/demo").json()["version"] > shown["version"], "nothing goes on")
        assert demo.end(signal.SIGTERM) == 0
        assert re.search(r"Stopped after [\d,]+ labels\.\n$", demo.output())
        assert demo.has_left_nothing()


def test_the_same_seed_gives_the_same_mails() -> None:
    first, again, other = (list(islice(synthetic_mails(seed), 60)) for seed in (1, 1, 2))
    assert first == again != other
    assert {each.label for each in first} == {1, -1}
    for each in first:
        extraction = features_of("email", each.text)
        assert extraction.cut == ()
        assert set(re.findall(r"(?://|@)[\w.-]+\.([a-z]+)\b", each.text)) <= {"test", "example"}


@pytest.mark.e2e  # it takes long
def test_forever_survives_a_restart_of_the_service_and_stops_on_a_signal(tmp_path: Path) -> None:
    with (
        Service(tmp_path / "service").start() as service,
        Demo(tmp_path, "--url", service.url, "--forever", "--rate", "100") as demo,
    ):
        demo.wait_for("labels; of the last")
        service.terminate()
        demo.wait_for(f"no service answers at {service.url}")
        service.start()
        demo.wait_for(f"{service.url} is back")
        seen = service.tenant("demo")["version"]
        wait_until(lambda: service.tenant("demo")["version"] > seen + 50, "no label arrives")
        assert demo.end(signal.SIGTERM) == 0
        assert re.search(r"Stopped after [\d,]+ labels\.\n$", demo.output())
        assert service.is_ready()
        assert demo.has_left_nothing()


@pytest.mark.e2e  # it takes long
def test_forever_waits_for_a_store_that_hangs_and_sends_every_label_once(tmp_path: Path) -> None:
    with (
        Service(tmp_path / "service").start() as service,
        Demo(tmp_path, "--url", service.url, "--forever", "--rate", "100") as demo,
    ):
        demo.wait_for("labels; of the last")
        (valkey,) = service.valkeys()
        os.kill(valkey, signal.SIGSTOP)
        demo.wait_for(f"{service.url} is unavailable: ")
        os.kill(valkey, signal.SIGCONT)
        demo.wait_for(f"{service.url} is back")
        assert demo.end(signal.SIGTERM) == 0
        given = re.search(r"Stopped after ([\d,]+) labels\.\n$", demo.output())
        assert given, demo.output()
        under_way = service.tenant("demo")["version"] - int(given[1].replace(",", ""))
        assert 0 <= under_way <= CONNECTIONS, "only requests in progress at the stop may be uncounted"


@pytest.mark.parametrize("wrong", [["--examples", "0"], ["--rate", "nan"], ["--examples", "9", "--forever"]])
def test_invalid_arguments_are_refused(wrong: list[str], capsys: Output) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["demo", *wrong])
    assert wrong[-2 if len(wrong) == 2 else -1] in capsys.readouterr().err
