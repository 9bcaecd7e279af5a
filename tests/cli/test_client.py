"""The HTTP client of the commands, against a real server that follows a script."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.cli import main
from app.cli.client import Client, RequestRefused, ServiceUnavailable
from app.learning.errors import BadSetting

Output = pytest.CaptureFixture[str]
pytestmark = pytest.mark.timeout(60)


class Script(BaseHTTPRequestHandler):
    """Answers with the statuses of the script in turn, then with 200; records requests."""

    statuses: list[int]
    paths: list[str]
    keys: list[str | None]
    missing_bytes = 0  # at the end of a body

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.keys.append(self.headers["Authorization"])
        status = self.statuses.pop(0) if self.statuses else 200
        body = json.dumps({"detail": f"problem {status}"} if status != 200 else {"status": "ready"}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) + self.missing_bytes))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class Server(ThreadingHTTPServer):
    """A server with a script of statuses."""

    def __init__(self) -> None:
        self.script: type[Script] = type("OwnScript", (Script,), {"statuses": [], "paths": [], "keys": []})
        super().__init__(("127.0.0.1", 0), self.script)
        self.url = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def test_a_request_is_repeated_while_the_service_is_unavailable(server: Server) -> None:
    server.script.statuses += [503, 429, 502]
    reports: list[str] = []
    with Client(server.url, timeout_seconds=5, retry_seconds=5, report=reports.append) as client:
        assert client.get("/x") == {"status": "ready"}
    assert server.script.paths == ["/x"] * 4
    assert reports == [f"{server.url} is unavailable: problem 429; trying again", f"{server.url} is back"]


def test_retries_end_after_a_while(server: Server) -> None:
    server.script.statuses += [503] * 100
    with Client(server.url, timeout_seconds=5, retry_seconds=0.15) as client, pytest.raises(ServiceUnavailable):
        client.get("/x")
    assert 2 <= len(server.script.paths) <= 4


def test_retries_can_be_cancelled(server: Server) -> None:
    server.script.statuses += [503] * 100
    with Client(server.url, timeout_seconds=5, retry_seconds=60) as client:
        client.cancel()
        with pytest.raises(ServiceUnavailable):
            client.get("/x")
    assert len(server.script.paths) == 1


def test_an_error_is_not_repeated_and_carries_the_detail_and_the_status(server: Server) -> None:
    server.script.statuses += [404]
    with Client(server.url, timeout_seconds=5, retry_seconds=5) as client:
        with pytest.raises(RequestRefused, match=r"^problem 404$") as refused:
            client.get("/x")
        assert refused.value.status == 404
    assert len(server.script.paths) == 1


def test_the_path_of_the_address_stays_in_front(server: Server) -> None:
    with Client(f"{server.url}/sluice/", timeout_seconds=5) as client:
        client.get_once("/tenants/a%2Fb?top=1")
    assert server.script.paths == ["/sluice/tenants/a%2Fb?top=1"]


def test_a_request_carries_the_key_of_the_environment_or_of_a_file(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("from-a-file\n")
    for name, value in (("SLUICE_KEY_FILE", str(file)), ("SLUICE_KEY", "given")):
        monkeypatch.setenv(name, value)
        with Client(server.url, timeout_seconds=5) as client:
            client.get_once("/x")
    assert server.script.keys == ["Bearer from-a-file", "Bearer given"]


def test_a_key_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_KEY_FILE", str(tmp_path / "none"))
    with pytest.raises(BadSetting, match=r"SLUICE_KEY_FILE names .*none', which cannot be read"):
        Client("http://127.0.0.1:9", timeout_seconds=5)


def test_an_export_that_breaks_off_leaves_no_file(server: Server, tmp_path: Path, capsys: Output) -> None:
    server.script.missing_bytes = 10
    server.script.protocol_version = "HTTP/1.0"
    assert main(["export", "acme", "--url", server.url, "--out", str(tmp_path / "model")]) == 1
    assert f"no service answers at {server.url}: " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
