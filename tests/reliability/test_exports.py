"""Exports of a real service: they end with their client, and their number is limited."""

import socket
from collections.abc import Iterator

import numpy as np
import pytest

from app.learning.snapshot.model_file import dump, load
from app.learning.state import TenantState
from tests.reliability.sockets import IN_TIME
from tests.reliability.test_metrics import samples
from tests.services import Service, wait_until

pytestmark = [pytest.mark.timeout(90), pytest.mark.e2e]  # slow
EXPORT = b"GET /tenants/large/export HTTP/1.1\r\nhost: x\r\n\r\n"
EXAMPLES, ACTIVE = 60, 20_000
LITTLE = 4096  # bytes of the client's receive buffer
FILE = {"content-type": "application/octet-stream"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("exports"), max_concurrent_exports=2).start() as service:
        service.request("POST", "/tenants/large/import", content=large_model(), headers=FILE).raise_for_status()
        yield service


def large_model() -> bytes:
    """Create a model that is larger than all buffers between service and client."""
    keys = np.random.default_rng(1).integers(1, 1 << 63, EXAMPLES * ACTIVE, np.uint64)
    starts = np.arange(EXAMPLES + 1) * ACTIVE
    state = TenantState()
    state.learn_batch(starts, keys, np.ones(keys.size), np.resize([1.0, -1.0], EXAMPLES))
    return b"".join(dump(state))


def begun(service: Service) -> socket.socket:
    """Start an export whose client reads only the beginning."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LITTLE)
    connection.settimeout(IN_TIME)
    connection.connect(("127.0.0.1", service.port))
    connection.sendall(EXPORT)
    assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
    return connection


def exports(service: Service, status: int) -> int:
    """Return how many exports have ended with this status."""
    found = samples(service, "sluice_http_requests_total", route="/tenants/{tenant}/export", status=str(status))
    return int(sum(sample.value for sample in found))


def test_an_export_ends_when_its_client_disconnects(service: Service) -> None:
    whole, gone = exports(service, 200), exports(service, 499)
    with begun(service):
        assert exports(service, 499) == gone
    wait_until(lambda: exports(service, 499) == gone + 1, "the service continues the export without a client")
    assert exports(service, 200) == whole
    assert "Traceback" not in service.log()


def test_beyond_the_limit_an_export_is_refused_until_another_has_ended(service: Service) -> None:
    with begun(service), begun(service):
        refused = service.request("GET", "/tenants/large/export")
        assert (refused.status_code, refused.json()["type"]) == (503, "/problems/too-many-exports")
        assert "2 exports are in progress here, which is the limit (SLUICE_MAX_CONCURRENT" in refused.json()["detail"]
        assert int(refused.headers["retry-after"]) >= 1
        assert service.predict("large", features={"a": 1}).status_code == 200
        assert service.request("POST", "/tenants/large/snapshot").status_code == 200
    wait_until(lambda: service.status("/tenants/large/export") == 200, "the places are not free again")


def test_refused_exports_and_head_requests_take_no_slot(service: Service) -> None:
    for _ in range(3):
        assert service.status("/tenants/none/export") == 404
        assert service.request("HEAD", "/tenants/large/export").status_code == 200
    assert load(service.request("GET", "/tenants/large/export").content).digest == service.digest("large")
