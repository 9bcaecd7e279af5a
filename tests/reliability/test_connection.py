"""A proxy breaks the connections between a service and its store while every route is called."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.proxies import Fault, Proxy, some_of
from tests.reliability.oracle import check
from tests.reliability.traffic import Feeder, feedback
from tests.servers import valkey_server
from tests.services import Service, new_client, wait_until

pytestmark = pytest.mark.timeout(120)

ALLOWED = {200, 201, 204, 404, 409, 410, 503}
ROUNDS = 12  # every route is called this often, by each caller
CALLERS = 3


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param([Fault.RESET, Fault.RESET_HALFWAY], id="reset"),
        pytest.param([Fault.CLOSE, Fault.CLOSE_HALFWAY, Fault.GARBAGE, Fault.DELAY], id="other", marks=pytest.mark.e2e),
    ],
)
def test_broken_connections_give_503_and_never_500(faults: list[Fault], tmp_path: Path) -> None:
    with ExitStack() as running:
        server = running.enter_context(valkey_server(tmp_path / "store"))
        proxy = running.enter_context(Proxy(server.port, delay_seconds=0.05))
        service = running.enter_context(Service(tmp_path / "service", redis_url=proxy.url, auth="open")).start()
        model = export(service)
        with Feeder([service], "acme", clients=3, retry=True) as feeder:
            feeder.wait_for(20)
            proxy.choose = some_of(faults, 0.15, seed=17)
            statuses = call_every_route(service, model, proxy)
            proxy.choose = lambda: None
            wait_until(service.is_ready, "the service does not recover")
            feeder.wait_for(20)
        assert set(statuses) <= ALLOWED, statuses
        assert statuses[200] > statuses[503] > 0
        assert set(proxy.counts) == set(faults)
        assert "Traceback" not in service.log()
        check([service], "acme", feeder)


def export(service: Service) -> bytes:
    assert service.feedback("model", **feedback(1)).status_code == 200
    return service.request("GET", "/tenants/model/export").content


def call_every_route(service: Service, model: bytes, proxy: Proxy) -> Counter[int]:
    """Call every route often, with connections that break meanwhile; return the statuses."""
    statuses: Counter[int] = Counter()
    surprises: list[str] = []

    def work(caller: int) -> None:
        with new_client() as client:
            for number in range(ROUNDS):
                for name, answer, is_own in answers(client, service.url, f"t{caller}", number, model):
                    statuses[answer.status_code] += 1
                    if answer.status_code not in ALLOWED or not is_own:
                        surprises.append(f"{name}: {answer.status_code} {answer.text[:500]}")
                proxy.reset_all()

    threads = [threading.Thread(target=work, args=(caller,)) for caller in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not surprises, surprises[:5]
    return statuses


def answers(
    client: httpx.Client, url: str, tenant: str, number: int, model: bytes
) -> Iterator[tuple[str, httpx.Response, bool]]:
    """Call each route once; yield its answer, and whether that belongs to this tenant and these ids."""
    numbers = count(1000 * number)
    body = {"tenant": tenant, **feedback(number)}
    given = {"tenant": tenant, "features": body["features"]}
    label = body | {"feedback_id": f"{tenant}-{number}"}
    served = {"tenant": tenant, "label": 1, "feedback_id": f"{tenant}-served-{number}"}
    items = [feedback(k) | {"feedback_id": f"{tenant}-b{k}"} for k in (next(numbers), next(numbers))]
    ndjson = {"content": json.dumps(label).encode(), "headers": {"content-type": "application/x-ndjson"}}
    kept = client.post(f"{url}/predict", json=given)
    yield "predict", kept, kept.status_code != 200 or kept.json()["tenant"] == tenant
    prediction = kept.json().get("prediction_id") if kept.status_code == 200 else None
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/feedback", {"json": label}),
        ("POST", "/feedback", {"json": label}),
        ("POST", "/feedback", {"json": served | {"prediction_id": prediction or "a-0-1"}}),
        ("POST", "/feedback/batch", {"json": {"tenant": tenant, "items": items}}),
        ("POST", "/predict/batch", {"json": {"tenant": tenant, "items": [{"features": given["features"]}]}}),
        ("POST", "/feedback/batch", ndjson),
        ("PUT", f"/tenants/{tenant}", {"json": {"threshold": number / 100}}),
        ("GET", f"/tenants/{tenant}", {}),
        ("GET", f"/tenants/{tenant}/weights", {}),
        ("GET", "/tenants", {}),
        ("POST", f"/tenants/{tenant}/snapshot", {}),
        ("GET", f"/tenants/{tenant}/export", {}),
        ("POST", f"/tenants/{tenant}-copy/import?replace=true", {"content": model}),
        ("DELETE", f"/tenants/{tenant}-copy", {}),
        ("POST", "/keys", {"json": {"name": tenant, "roles": ["predict"], "tenants": [tenant]}}),
        ("GET", "/keys", {}),
        ("GET", "/readyz", {}),
        ("GET", "/metrics", {}),
    ]
    for method, path, options in calls:
        answer = client.request(method, url + path, **options)
        expected = options.get("json", {}).get("feedback_id") if path == "/feedback" else None
        yield f"{method} {path}", answer, answer.status_code != 200 or is_own(path, answer, tenant, expected)


def is_own(path: str, answer: httpx.Response, tenant: str, feedback_id: object) -> bool:
    """Whether an answer that names a tenant and a feedback_id names these."""
    if path not in {"/feedback", f"/tenants/{tenant}"}:
        return True
    shown = answer.json()
    return bool(shown["tenant"] == tenant and shown.get("feedback_id") == feedback_id)
