"""Data written by the release before the rebuild still loads, to the same digests.

`tests/fixtures` holds a data directory, a model file and the digests that the service of that release reported.
"""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.learning.snapshot.model_file import load
from tests.services import Service

FIXTURES = Path(__file__).parent / "fixtures"
EXPECTED: dict[str, dict[str, object]] = json.loads((FIXTURES / "digests.json").read_text())["tenants"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("older")
    with tarfile.open(FIXTURES / "data.tar.xz") as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:  # Python before 3.11.4
            archive.extractall(folder)  # noqa: S202 - our own archive
    with Service(folder) as service:
        yield service.start()


@pytest.mark.parametrize("tenant", EXPECTED)
def test_an_older_data_directory_loads_to_the_same_digest(service: Service, tenant: str) -> None:
    state = service.tenant(tenant)
    assert {"digest": state["digest"], "version": state["version"]} == EXPECTED[tenant]


def test_an_older_data_directory_lists_the_same_tenants(service: Service) -> None:
    assert [each["tenant"] for each in service.request("GET", "/tenants").json()["tenants"]] == sorted(EXPECTED)


def test_an_older_model_file_loads_to_the_same_digest() -> None:
    assert load((FIXTURES / "model.sluice").read_bytes()).digest == EXPECTED["raw"]["digest"]


def test_an_older_model_file_is_imported_to_the_same_digest(service: Service) -> None:
    service.request("POST", "/tenants/copy/import", content=(FIXTURES / "model.sluice").read_bytes())
    assert service.digest("copy") == EXPECTED["raw"]["digest"]
