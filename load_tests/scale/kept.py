"""What a kept prediction takes of the store's memory, and a tenant that has learnt nothing yet."""

import socket
import time
from pathlib import Path

from load_tests.harness import traffic
from load_tests.harness.client import run as done
from load_tests.harness.jobs import ClosedLoop, Request
from load_tests.harness.processes import Service, ended
from load_tests.scale.requests import NEVER, NOT_KEPT, predict
from load_tests.scale.results import KeptFound
from load_tests.scale.sizes import Sizes
from load_tests.scale.watching import store_bytes

TOGETHER = "together"
CONNECTIONS = 32
WRITTEN_SECONDS = 1.0  # they are written behind the answers
EXAMPLES = 1000


def measure(folder: Path, sizes: Sizes) -> KeptFound:
    """Predictions of one tenant, and as many of as many tenants."""
    apart = [f"apart-{number}" for number in range(sizes.kept)]
    with ended(Service(folder, **NEVER).start()) as service:
        service.is_ready()
        _bytes_of_each(service, [TOGETHER], NOT_KEPT)
        tenant = _bytes_of_each(service, apart, NOT_KEPT)
        together = _bytes_of_each(service, [TOGETHER] * sizes.kept)
        each = _bytes_of_each(service, apart)
        requests = [predict(TOGETHER, features) for features in traffic.examples(EXAMPLES)]
        answer = _answer_bytes(service, requests[0])
    return KeptFound(sum(map(len, requests)) // EXAMPLES, answer, together, each, tenant)


def _bytes_of_each(service: Service, tenants: list[str], more: bytes = b"") -> float:
    """Ask these tenants once each; what the store has more for each of them then."""
    before, examples = store_bytes(service), traffic.examples(EXAMPLES)
    requests = [Request(predict(tenant, examples[k % EXAMPLES], more)) for k, tenant in enumerate(tenants)]
    done(ClosedLoop(port=service.port, requests=requests, connections=min(CONNECTIONS, len(tenants))))
    time.sleep(WRITTEN_SECONDS)
    return (store_bytes(service) - before) / len(tenants)


def _answer_bytes(service: Service, request: bytes) -> int:
    """Head and body of an answer, which is so short that it comes in one piece."""
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(request)
        return len(connection.recv(1 << 16))
