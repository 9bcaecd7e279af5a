"""The append-only file of the embedded Valkey: what is missing at its end is kept and announced."""

import logging
import os
import signal
from pathlib import Path

import pytest
import redis

from app.storage.embedded import append_only_file
from app.storage.embedded.append_only_file import read_notes, scan
from app.storage.embedded.valkey import EmbeddedValkey
from app.storage.errors import StoreUnusable
from tests.servers import wait_until
from tests.storage.embedded_servers import read, running, write

APPEND = "redis.call('XADD', 'sluice:{s17}:acme:log', '0-' .. ARGV[1], 'p', 'payload') redis.call('SET', 'n', ARGV[1])"
APPENDS = 20


def filled(data_dir: Path) -> Path:
    """Run a server with some transactions; return its append-only file."""
    with running(data_dir) as valkey, redis.Redis.from_url(valkey.url) as client:
        for number in range(1, APPENDS + 1):
            client.eval(APPEND, 0, number)
    (path,) = append_only_file.increments(data_dir / "valkey")
    return path


def kept(data_dir: Path) -> bytes:
    (path,) = (data_dir / "rescued").iterdir()
    return path.read_bytes()


@pytest.mark.parametrize("cut", [1, 3, 20, 60])
def test_an_incomplete_write_is_cut_off_kept_and_announced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cut: int
) -> None:
    path = filled(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    (tmp_path / "valkey" / append_only_file.NOTED).unlink()  # as if the last write had never been complete
    caplog.set_level(logging.ERROR)
    with running(tmp_path) as valkey:
        assert read(valkey.url, "n") == b"%d" % (APPENDS - 1)
    last = data[data.rindex(b"*1\r\n$5\r\nMULTI") : -cut]
    assert kept(tmp_path) == last
    (note,) = read_notes()
    assert f"its last {len(last):,} bytes were cut off" in note
    assert "never acknowledged" in note
    assert [record.getMessage() for record in caplog.records] == [note]


def test_a_file_that_lost_acknowledged_writes_is_announced(tmp_path: Path) -> None:
    path = filled(tmp_path)
    data = path.read_bytes()
    begin = data.index(b"*1\r\n$5\r\nMULTI", len(data) // 2)  # between two writes: Valkey itself notices nothing
    path.write_bytes(data[:begin])
    with running(tmp_path) as valkey:
        assert int(read(valkey.url, "n") or 0) < APPENDS  # type: ignore[call-overload]
    (note,) = read_notes()
    assert f"has lost its last {len(data) - begin:,} bytes: it had {len(data):,}" in note
    assert "acknowledged" in note
    with running(tmp_path):
        assert read_notes() == []  # it is announced once


def test_a_sound_file_is_not_announced(tmp_path: Path) -> None:
    filled(tmp_path)
    with running(tmp_path) as valkey:
        assert read(valkey.url, "n") == b"%d" % APPENDS
        assert read_notes() == []
    assert not (tmp_path / "rescued").exists()


def test_a_killed_server_leaves_nothing_to_announce(tmp_path: Path) -> None:
    with running(tmp_path) as valkey:
        write(valkey.url, "label")
        valkey.ensure_running()
        assert valkey.pid
        os.kill(valkey.pid, signal.SIGKILL)
        wait_until(lambda: not valkey.is_alive(), "the server still runs")
        assert valkey.ensure_running()
        assert read_notes() == []


def test_a_changed_length_in_the_middle_loses_nothing_silently(tmp_path: Path) -> None:
    """Valkey itself would take it for an incomplete end, and cut off everything behind it."""
    path = filled(tmp_path)
    data = path.read_bytes()
    at = data.index(b"$7\r\npayload", len(data) // 2)
    path.write_bytes(data[:at] + b"$9999999\r\npayload" + data[at + 11 :])
    with pytest.raises(StoreUnusable, match=r"other [\d,]+ bytes have 1\d log entries \(acme 1\d\).*repair --store"):
        EmbeddedValkey(tmp_path).start()
    assert path.stat().st_size > len(data)
    assert not (tmp_path / "rescued").exists()


@pytest.mark.parametrize("new", [b"*Z\r\n$4\r\nXADD", b"*5\r\n$4\r\nXAXX"], ids=["format", "command"])
def test_a_damaged_file_says_what_a_cut_would_lose_and_can_be_cut(tmp_path: Path, new: bytes) -> None:
    path = filled(tmp_path)
    data = path.read_bytes()
    at = data.index(b"*5\r\n$4\r\nXADD", len(data) // 2)
    path.write_bytes(data[:at] + new + data[at + len(new) :])
    valkey = EmbeddedValkey(tmp_path)
    with pytest.raises(StoreUnusable, match="sluice repair --store --apply") as refused:
        valkey.start()
    found = append_only_file.damage(tmp_path / "valkey", str(refused.value))
    assert found
    assert str(found) in str(refused.value)
    assert data[found.valid :].startswith(b"*1\r\n$5\r\nMULTI")  # the whole transaction goes
    copy = valkey.cut(found)
    assert path.read_bytes() + copy.read_bytes() == data[:at] + new + data[at + len(new) :]
    with running(tmp_path) as started:
        assert int(read(started.url, "n") or 0) == data[: found.valid].count(b"MULTI")  # type: ignore[call-overload]


def test_the_scan_agrees_with_what_valkey_writes(tmp_path: Path) -> None:
    path = filled(tmp_path)
    found = scan(path)
    assert found.valid == found.size == path.stat().st_size
    assert not found.is_one_write
