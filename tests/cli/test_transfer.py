from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import main
from tests.services import Service

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Service]]:
    here, there = (Service(tmp_path_factory.mktemp("service")) for _ in range(2))
    with here.launch(), there.launch():
        here.wait_until_ready()
        there.wait_until_ready()
        yield here, there


def test_a_tenant_moves_to_another_service_by_a_file(
    services: tuple[Service, Service], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = services
    for number in range(20):
        here.feedback("acme", label=1 if number % 2 else -1, features={f"f{number % 7}": 1.0, "all": 0.5})
    model = tmp_path / "acme.sluice"
    assert main(["export", "acme", "--url", here.url, "--out", str(model)]) == 0
    assert main(["import", "copy", str(model), "--url", there.url]) == 0
    assert here.digest("acme") == there.digest("copy")
    assert f"version 21, digest {there.digest('copy')}" in capsys.readouterr().out
    scores = [
        each.predict(name, features={"f3": 1.0}).json()["score"] for each, name in ((here, "acme"), (there, "copy"))
    ]
    assert scores[0] == scores[1]
    assert main(["inspect", str(model)]) == 0


def test_an_import_replaces_a_tenant_only_on_request(
    services: tuple[Service, Service], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, _ = services
    here.feedback("twice", label=1, features={"a": 1.0})
    model = tmp_path / "twice.sluice"
    assert main(["export", "twice", "--url", here.url, "--out", str(model)]) == 0
    assert main(["import", "twice", str(model), "--url", here.url]) == 1
    refused = capsys.readouterr().err
    assert "tenant 'twice' exists; --replace replaces it with this model" in refused
    assert "replace=true" not in refused
    assert main(["import", "twice", str(model), "--url", here.url, "--replace"]) == 0


def test_an_error_is_one_sentence(
    services: tuple[Service, Service], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, _ = services
    out = tmp_path / "m"
    assert main(["export", "unknown", "--url", here.url, "--out", str(out)]) == 1
    assert "there is no tenant 'unknown'; check its name\n" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main(["export", "acme", "--url", "http://127.0.0.1:9", "--out", str(out)]) == 1
    assert "no service answers at http://127.0.0.1:9" in capsys.readouterr().err
    assert main(["export", "acme", "--url", "nonsense", "--out", str(out)]) == 1
    assert "is not the address of a service" in capsys.readouterr().err
    out.write_bytes(b"no model")
    assert main(["import", "new", str(out), "--url", here.url]) == 1
    assert "the file is not a Sluice model" in capsys.readouterr().err
    assert main(["import", "new", str(tmp_path / "missing"), "--url", here.url]) == 1
