"""`sluice repair` on an embedded store, without a service."""

from pathlib import Path

import pytest
import redis

from app.cli import main
from app.storage.embedded.append_only_file import increments
from app.storage.redis_keys import keys_of
from tests.storage.embedded_servers import running


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SLUICE_REDIS_URL", raising=False)
    monkeypatch.setenv("SLUICE_DATA_DIR", str(tmp_path))
    return tmp_path


def test_a_store_without_tenants_is_sound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair"]) == 0
    assert capsys.readouterr().out == "0 tenants checked, 0 damaged\n"


def test_an_unknown_tenant_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", "nobody"]) == 1
    assert "there is no tenant 'nobody'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["acme", "--all"], "name one tenant, or give --all or --store"),
        (["--apply"], "--apply repairs one tenant: name it"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_metadata_alone_is_repaired_to_an_empty_tenant(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(data_dir) as valkey, redis.Redis.from_url(valkey.url) as client:
        client.zadd("sluice:tenants", {"acme": 0})
        client.hset(keys_of("acme").meta, mapping={"born": "0" * 32, "version": "many", "chain": "0" * 32})
    assert main(["repair"]) == 1
    assert "the version in its metadata is 'many'" in capsys.readouterr().out
    assert main(["repair", "acme", "--apply"]) == 0
    assert main(["repair"]) == 0
    assert "1 tenants checked, 0 damaged" in capsys.readouterr().out


def test_a_damaged_append_only_file_is_shown_and_cut(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(data_dir) as valkey, redis.Redis.from_url(valkey.url) as client:
        for number in range(4):
            client.set(f"key-{number}", "value")
    assert main(["repair", "--store"]) == 0
    assert "starts" in capsys.readouterr().out
    (path,) = increments(data_dir / "valkey")
    data = path.read_bytes()
    at = data.index(b"*3\r\n$3\r\nSET\r\n$5\r\nkey-2")
    path.write_bytes(data[:at] + b"?" + data[at + 1 :])
    assert main(["repair", "--store"]) == 1
    assert f"valid up to byte {at:,} of {len(data):,}" in capsys.readouterr().out
    assert path.stat().st_size == len(data)
    assert main(["repair", "--store", "--apply"]) == 0
    assert path.read_bytes() == data[:at]
    assert main(["repair", "--store"]) == 0
    with running(data_dir) as valkey, redis.Redis.from_url(valkey.url) as client:
        assert client.keys("key-*") == [b"key-0", b"key-1"] or client.dbsize() == 2
