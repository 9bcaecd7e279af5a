from collections.abc import Iterator

import pytest

from tests.security.raw_http import GOOD, post, send
from tests.services import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service"), max_body_bytes="32MiB").start() as service:
        yield service


@pytest.fixture
def port(service: Service) -> Iterator[int]:
    """The port of the service. Afterwards the service must still work, without a traceback in its log."""
    logged = len(service.whole_log())
    yield service.port
    answer = send(service.port, post("/predict", GOOD))
    assert answer.status == 200, answer
    assert "Traceback" not in service.whole_log()[logged:]
