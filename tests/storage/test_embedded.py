"""The embedded Valkey as a real process."""

import os
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from app.storage.embedded import orphans
from app.storage.embedded.valkey import EmbeddedValkey
from app.storage.errors import StoreUnusable
from tests.servers import wait_until
from tests.storage.embedded_servers import read, running, write


def setting(valkey: EmbeddedValkey, name: str) -> object:
    with redis.Redis.from_url(valkey.url) as client:
        return client.config_get(name)[name]


def test_writes_survive_a_restart(tmp_path: Path) -> None:
    with running(tmp_path / "data") as valkey:
        write(valkey.url, "label")
    with running(tmp_path / "data") as valkey:
        assert read(valkey.url, "label") == b"kept"


def test_writes_survive_a_kill_of_the_server(tmp_path: Path) -> None:
    with running(tmp_path) as valkey:
        write(valkey.url, "label")
        assert valkey.pid
        os.kill(valkey.pid, signal.SIGKILL)
        wait_until(lambda: not valkey.is_alive(), "the server still runs")
        assert valkey.ensure_running()
        assert valkey.is_alive()
        assert read(valkey.url, "label") == b"kept"


def test_a_running_server_is_not_restarted(tmp_path: Path) -> None:
    with running(tmp_path) as valkey:
        pid = valkey.pid
        assert not valkey.ensure_running()
        assert valkey.pid == pid


def test_a_stopped_server_stays_stopped(tmp_path: Path) -> None:
    with running(tmp_path) as valkey:
        pid = valkey.pid
    valkey.stop()
    assert not valkey.ensure_running()
    assert not valkey.is_alive()
    assert valkey.pid is None
    assert pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_stopped_server_can_be_started_again(tmp_path: Path) -> None:
    with running(tmp_path) as valkey:
        write(valkey.url, "label")
    assert read(valkey.start(), "label") == b"kept"
    valkey.stop()


def test_a_second_start_is_refused(tmp_path: Path) -> None:
    with running(tmp_path) as valkey:
        with pytest.raises(StoreUnusable, match="has been started already"):
            valkey.start()
        assert valkey.is_alive()


def test_a_stop_removes_socket_and_process_file(tmp_path: Path) -> None:
    with running(tmp_path):
        assert (tmp_path / "valkey.sock").exists()
        assert (tmp_path / "valkey.pid").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"sluice.lock", "valkey", "valkey.log", "valkey.used"}


def test_a_hung_server_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.storage.embedded.valkey.STOP_SECONDS", 0.1)
    with running(tmp_path) as valkey:
        assert valkey.pid
        os.kill(valkey.pid, signal.SIGSTOP)
    assert orphans.servers_in(tmp_path / "valkey") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "0"),
        ("appendonly", "yes"),
        ("appendfsync", "always"),
        ("aof-load-truncated", "no"),
        ("aof-use-rdb-preamble", "yes"),
        ("save", ""),
        ("maxmemory-policy", "noeviction"),
    ],
)
def test_the_server_is_configured_for_durability(shared: EmbeddedValkey, name: str, value: str) -> None:
    assert setting(shared, name) == value


def test_only_this_user_can_access_the_data(shared: EmbeddedValkey) -> None:
    for path in (shared.data_dir, shared.data_dir / "valkey", shared.data_dir / "valkey.sock"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_the_server_has_its_own_session(shared: EmbeddedValkey) -> None:
    assert shared.pid
    assert os.getsid(shared.pid) == shared.pid


def test_a_relative_path_with_special_characters_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with running(Path("my data?/100% ä#")) as valkey:
        monkeypatch.chdir("/")
        write(valkey.url, "label")
        assert setting(valkey, "dir") == str(tmp_path / "my data?/100% ä#/valkey")


def test_a_path_too_long_for_a_socket_works(tmp_path: Path) -> None:
    data_dir = tmp_path / ("long" * 30) / "data"
    with running(data_dir) as valkey:
        write(valkey.url, "label")
        path = Path(valkey.url.removeprefix("unix://"))
        assert len(os.fsencode(path)) < 104
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.exists()
    with running(data_dir) as valkey:
        assert read(valkey.url, "label") == b"kept"


def test_a_second_service_on_the_same_data_is_refused(tmp_path: Path) -> None:
    with running(tmp_path) as valkey:
        with pytest.raises(
            StoreUnusable,
            match=f"^{tmp_path} is in use by the service with process id {os.getpid()}; "
            "give this one another SLUICE_DATA_DIR$",
        ):
            EmbeddedValkey(tmp_path).start()
        assert valkey.is_alive()
        write(valkey.url, "label")


def test_services_on_two_directories_are_independent(tmp_path: Path) -> None:
    with running(tmp_path / "one") as one, running(tmp_path / "two") as two:
        write(one.url, "label")
        assert read(two.url, "label") is None


def test_after_a_failed_start_the_directory_is_free(tmp_path: Path) -> None:
    (tmp_path / "valkey.sock").write_text("mine")
    valkey = EmbeddedValkey(tmp_path)
    with pytest.raises(StoreUnusable):
        valkey.start()
    (tmp_path / "valkey.sock").unlink()
    valkey.start()
    valkey.stop()


def log_file(data_dir: Path) -> Path:
    [file] = (data_dir / "valkey" / "appendonlydir").glob("*.incr.aof")
    return file


def with_two_keys(data_dir: Path) -> Path:
    with running(data_dir) as valkey:
        write(valkey.url, "first")
        write(valkey.url, "second")
    return log_file(data_dir)


def test_damaged_data_prevents_the_start_with_a_message(tmp_path: Path) -> None:
    file = with_two_keys(tmp_path)
    file.write_bytes(file.read_bytes().replace(b"*3", b"??", 1))
    with pytest.raises(
        StoreUnusable, match=r"could not start \(exit code 1\)\. The end of .*valkey\.log: .*Bad file format"
    ):
        EmbeddedValkey(tmp_path).start()
    assert orphans.servers_in(tmp_path / "valkey") == []


def test_a_truncated_last_write_is_dropped(tmp_path: Path) -> None:
    file = with_two_keys(tmp_path)
    file.write_bytes(file.read_bytes()[:-3])
    with running(tmp_path) as valkey:
        assert read(valkey.url, "first") == b"kept"
        assert read(valkey.url, "second") is None


def test_a_file_instead_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(
        StoreUnusable, match=r"the data directory .*data \(SLUICE_DATA_DIR\) cannot be used: .*File exists"
    ):
        EmbeddedValkey(tmp_path / "data").start()


def test_a_directory_that_cannot_be_created_is_refused() -> None:
    with pytest.raises(StoreUnusable, match=r"the data directory /proc/sluice .* cannot be used"):
        EmbeddedValkey(Path("/proc/sluice")).start()


def test_a_start_takes_a_fraction_of_a_second(tmp_path: Path) -> None:
    begin = time.monotonic()
    with running(tmp_path):
        assert time.monotonic() - begin < 1.0


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedValkey]:
    with running(tmp_path_factory.mktemp("shared") / "data") as valkey:
        yield valkey
