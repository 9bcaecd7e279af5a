"""An embedded Valkey that has lost its append-only files does not start empty."""

import shutil
from pathlib import Path

import pytest

from app.storage.embedded.data_folder import MARKER
from app.storage.embedded.valkey import EmbeddedValkey
from app.storage.errors import StoreUnusable
from tests.storage.embedded_servers import read, running, write

FILES = {"manifest": "*.manifest", "base": "*.base.rdb", "increments": "*.incr.aof", "everything": "*"}


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A data directory with a key."""
    with running(tmp_path) as valkey:
        write(valkey.url, "label")
    return tmp_path


def files_of(data_dir: Path, pattern: str = "*") -> list[Path]:
    return list((data_dir / "valkey" / "appendonlydir").glob(pattern))


@pytest.mark.parametrize("pattern", FILES.values(), ids=FILES)
def test_lost_files_prevent_the_start_and_the_others_are_kept(used: Path, pattern: str) -> None:
    for file in files_of(used, pattern):
        file.unlink()
    left = {file: file.read_bytes() for file in files_of(used)}
    for _ in range(2):
        with pytest.raises(StoreUnusable) as refused:
            EmbeddedValkey(used).start()
        folder = used / "valkey" / "appendonlydir"
        assert str(refused.value).startswith(f"{folder} has lost appendonly.aof.")
        assert str(refused.value).endswith(f"delete {used / 'valkey'} and {used / MARKER}")
    assert {file: file.read_bytes() for file in files_of(used)} == left


@pytest.mark.parametrize("folder", ["valkey", "valkey/appendonlydir"])
def test_a_lost_folder_prevents_the_start(used: Path, folder: str) -> None:
    shutil.rmtree(used / folder)
    with pytest.raises(StoreUnusable, match=r"has lost appendonly\.aof\.manifest"):
        EmbeddedValkey(used).start()


def test_the_operator_can_start_afresh_as_the_message_says(used: Path) -> None:
    shutil.rmtree(used / "valkey")
    (used / MARKER).unlink()
    with running(used) as valkey:
        assert read(valkey.url, "label") is None


def test_restored_files_are_used(used: Path) -> None:
    [manifest] = files_of(used, "*.manifest")
    content = manifest.read_bytes()
    manifest.unlink()
    with pytest.raises(StoreUnusable):
        EmbeddedValkey(used).start()
    manifest.write_bytes(content)
    with running(used) as valkey:
        assert read(valkey.url, "label") == b"kept"


def test_data_of_an_earlier_version_is_protected_too(used: Path) -> None:
    """It has no marker."""
    (used / MARKER).unlink()
    with running(used) as valkey:
        assert read(valkey.url, "label") == b"kept"
    (used / MARKER).unlink()
    files_of(used, "*.manifest")[0].unlink()
    with pytest.raises(StoreUnusable, match="would start empty"):
        EmbeddedValkey(used).start()


def test_an_interrupted_first_start_is_repeated(tmp_path: Path) -> None:
    """Valkey writes its manifest after its first, empty files."""
    with running(tmp_path):
        pass
    (tmp_path / MARKER).unlink()
    files_of(tmp_path, "*.manifest")[0].unlink()
    with running(tmp_path) as valkey:
        write(valkey.url, "label")
    assert (tmp_path / MARKER).exists()


def test_a_running_service_does_not_restart_its_server_empty(used: Path) -> None:
    with running(used) as valkey:
        for file in files_of(used, "*.manifest"):
            file.unlink()
        assert valkey._process is not None  # noqa: SLF001
        valkey._process.kill()  # noqa: SLF001
        valkey._process.wait()  # noqa: SLF001
        with pytest.raises(StoreUnusable, match="would start empty"):
            valkey.ensure_running()
