from collections.abc import Iterator

import pytest

from tests.security.asking import GOOD, ask, post
from tests.services import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service"), max_body_bytes="32MiB").start() as service:
        yield service


@pytest.fixture
def port(service: Service) -> Iterator[int]:
    """Where the service listens. It must be as well after the test as before."""
    logged = len(service.whole_log())
    yield service.port
    answer = ask(service.port, post("/predict", GOOD))
    assert answer.status == 200, answer
    assert "Traceback" not in service.whole_log()[logged:]
