"""Servers and sockets of a killed service, and other things that look like them."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.storage.embedded import orphans
from app.storage.embedded.valkey import EmbeddedValkey
from app.storage.errors import StoreUnusable
from tests.servers import valkey_server
from tests.storage.embedded_servers import read, running, write

SERVICE = """
import pathlib, sys, time
from app.storage.embedded.valkey import EmbeddedValkey
valkey = EmbeddedValkey(pathlib.Path(sys.argv[1]))
print(valkey.start(), valkey.pid, flush=True)
time.sleep(600)
"""


@contextmanager
def killed_service(data_dir: Path, key: str = "label") -> Iterator[int]:
    """Start a service, write one key and kill it with -9; yield the process id of the orphaned server."""
    service = subprocess.Popen([sys.executable, "-c", SERVICE, str(data_dir)], stdout=subprocess.PIPE, text=True)
    with service:
        assert service.stdout is not None
        url, pid = service.stdout.readline().split()
        write(url, key)
        service.kill()
    try:
        yield int(pid)
    finally:
        if int(pid) in orphans.servers_in(data_dir / "valkey"):
            os.kill(int(pid), signal.SIGKILL)


def test_after_a_kill_of_the_service_the_next_one_takes_over_its_data(tmp_path: Path) -> None:
    with killed_service(tmp_path) as orphan:
        assert orphans.servers_in(tmp_path / "valkey") == [orphan]
        with running(tmp_path) as valkey:
            assert read(valkey.url, "label") == b"kept"
            assert orphans.servers_in(tmp_path / "valkey") == [valkey.pid]


def test_an_orphan_with_a_long_path_is_taken_over_too(tmp_path: Path) -> None:
    data_dir = tmp_path / ("long" * 30)
    with killed_service(data_dir), running(data_dir) as valkey:
        assert read(valkey.url, "label") == b"kept"
        assert orphans.servers_in(data_dir / "valkey") == [valkey.pid]


def test_an_orphan_without_socket_and_process_file_is_found(tmp_path: Path) -> None:
    with killed_service(tmp_path):
        (tmp_path / "valkey.sock").unlink()
        (tmp_path / "valkey.pid").unlink()
        with running(tmp_path) as valkey:
            assert read(valkey.url, "label") == b"kept"
            assert orphans.servers_in(tmp_path / "valkey") == [valkey.pid]


def test_a_hung_orphan_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "PATIENCE_SECONDS", 0.1)
    with killed_service(tmp_path) as orphan:
        os.kill(orphan, signal.SIGSTOP)
        with running(tmp_path) as valkey:
            assert read(valkey.url, "label") == b"kept"


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "valkey.sock"))
    with running(tmp_path) as valkey:
        write(valkey.url, "label")


def test_a_process_that_reuses_the_pid_of_an_old_server_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["/bin/sleep", "600"], cwd=tmp_path) as foreign:
        (tmp_path / "valkey.pid").write_text(f"{foreign.pid}\n")
        with running(tmp_path) as valkey:
            assert foreign.poll() is None
            assert (tmp_path / "valkey.pid").read_text().strip() == str(valkey.pid)
        assert foreign.poll() is None
        foreign.kill()


def test_a_server_of_other_data_on_our_socket_is_left_alone(tmp_path: Path) -> None:
    with valkey_server(tmp_path / "other", "--unixsocket", str(tmp_path / "valkey.sock")) as other:
        with pytest.raises(StoreUnusable, match=r"valkey\.sock belongs to a server on .*other, not to one on .*valkey"):
            EmbeddedValkey(tmp_path).start()
        assert other.answers()


def test_another_program_on_our_socket_is_left_alone(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "valkey.sock"))
        other.listen()
        with pytest.raises(StoreUnusable, match=r"valkey\.sock belongs to another program"):
            EmbeddedValkey(tmp_path).start()
        assert (tmp_path / "valkey.sock").exists()


def test_a_file_instead_of_the_socket_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "valkey.sock").write_text("mine")
    with pytest.raises(StoreUnusable, match=r"valkey\.sock is not a socket; move it away"):
        EmbeddedValkey(tmp_path).start()
    assert (tmp_path / "valkey.sock").read_text() == "mine"
