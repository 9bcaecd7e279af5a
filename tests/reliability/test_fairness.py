"""One caller cannot stop the others: it holds neither all requests of a worker nor all memory of the store."""

import itertools
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
import redis

from app.storage.redis_keys import keys_of
from tests.reliability.sockets import connected
from tests.reliability.test_keys import new_key
from tests.reliability.test_limits import in_progress
from tests.reliability.test_metrics import samples
from tests.reliability.traffic import feedback
from tests.servers import valkey_server
from tests.services import Service, new_client, wait_until

pytestmark = [pytest.mark.timeout(120), pytest.mark.e2e]  # slow

UNFINISHED = 1100  # more than SLUICE_MAX_CONCURRENT_REQUESTS
EXAMPLE: dict[str, Any] = {"tenant": "acme", "features": {"a": 1}}


def own_keys(service: Service, *keys: tuple[str, str]) -> list[str]:
    """Create keys, and one for metrics that the service's client then uses; return when the service knows them."""
    environment = {"SLUICE_REDIS_URL": service.store_url}
    *made, metrics = [new_key(environment, *each) for each in (*keys, ("metrics", "*"))]
    wait_until(lambda: service.status("/metrics") == 401, "the first key does not end open access")
    service.client.headers["x-api-key"] = metrics
    wait_until(lambda: service.status("/metrics") == 200, "the service does not know the keys")
    return made


def shed(service: Service) -> float:
    found = samples(service, "sluice_requests_shed_total")
    return sum(float(sample.value) for sample in found if sample.labels["reason"].endswith("concurrency"))


def test_unfinished_bodies_of_one_key_do_not_keep_another_key_out(tmp_path: Path) -> None:
    with Service(tmp_path) as service, ExitStack() as open_until_the_end:
        service.start()
        greedy, other = own_keys(service, ("predict", "*"), ("predict", "*"))
        head = f"POST /predict HTTP/1.1\r\nhost: x\r\nx-api-key: {greedy}\r\ncontent-length: 100\r\n\r\n{{"
        for _ in range(UNFINISHED):
            open_until_the_end.enter_context(connected(service, head.encode()))
        wait_until(lambda: in_progress(service) + shed(service) == UNFINISHED, "they do not arrive")
        for _ in range(10):
            answer = service.request("POST", "/predict", json=EXAMPLE, headers={"x-api-key": other})
            assert answer.status_code == 200, answer.text
        refused = service.request("POST", "/predict", json=EXAMPLE, headers={"x-api-key": greedy})
        assert refused.json()["type"] == "/problems/too-many-concurrent-requests"
        assert in_progress(service) == 250
        open_until_the_end.close()
        wait_until(lambda: in_progress(service) == 0, "their places are not given back")
        answer = service.request("POST", "/predict", json=EXAMPLE, headers={"x-api-key": greedy})
        assert answer.status_code == 200


FLOOD_SECONDS = 8.0
MAXMEMORY = 64 << 20
LARGE = {f"{'x' * 500}-{number}": 1 for number in range(4000)}  # some 2 MB as JSON


def flood(service: Service, key: str, tenants: int, over: threading.Event) -> Counter[int]:
    """Predict with large inputs as fast as the service answers."""
    statuses: Counter[int] = Counter()
    bodies = [msgspec.json.encode({"tenant": f"flood-{number}", "features": LARGE}) for number in range(tenants)]
    with new_client() as client:
        for body in itertools.cycle(bodies):
            if over.is_set():
                break
            answer = client.post(f"{service.url}/predict", content=body, headers={"x-api-key": key})
            statuses[answer.status_code] += 1
    return statuses


@pytest.mark.parametrize("tenants", [1, 40])
def test_a_flood_of_predictions_leaves_room_for_the_labels_of_others(tenants: int, tmp_path: Path) -> None:
    with (
        valkey_server(tmp_path / "store", "--maxmemory", f"{MAXMEMORY}", "--maxmemory-policy", "noeviction") as store,
        Service(tmp_path / "service", redis_url=store.url) as service,
        ThreadPoolExecutor(3) as threads,
    ):
        service.start()
        greedy, other = own_keys(service, ("predict", "flood-*"), ("feedback", "acme"))
        over = threading.Event()
        floods = [threads.submit(flood, service, greedy, tenants, over) for _ in range(3)]
        end, given = time.monotonic() + FLOOD_SECONDS, 0
        try:
            while time.monotonic() < end:
                label = {"tenant": "acme", **feedback(given)}
                answer = service.request("POST", "/feedback", json=label, headers={"x-api-key": other})
                assert answer.status_code == 200, answer.text
                given += 1
        finally:
            over.set()
        answered = sum((each.result(60) for each in floods), Counter())
        assert answered[200] * len(msgspec.json.encode(LARGE)) > MAXMEMORY, answered  # predictions go on
        (limit,) = samples(service, "sluice_pending_limit_bytes")
        (kept,) = samples(service, "sluice_pending_bytes")
        assert limit.value == MAXMEMORY // 4
        assert 0 < kept.value < 2 * limit.value
        (lost,) = samples(service, "sluice_predictions_not_kept_total")
        assert lost.value > 0
        assert store.client().info("memory")["used_memory_peak"] < MAXMEMORY


def test_a_full_store_accepts_labels_again_by_itself(tmp_path: Path) -> None:
    with (
        valkey_server(tmp_path / "store") as store,
        Service(tmp_path / "service", redis_url=store.url) as service,
    ):
        service.start()
        service.feedback("acme", **feedback(0)).raise_for_status()
        for number in range(6):
            assert service.predict(f"other-{number}", features=LARGE).json()["prediction_id"]
        wait_until(lambda: bool(store.client().info("memory")["used_memory"] > 10 << 20), "they are not written")
        store.ask("CONFIG", "SET", "maxmemory", 8 << 20)
        wait_until(lambda: service.feedback("acme", **feedback(1)).status_code == 200, "labels are still refused")
        assert service.predict("other-1", features={"a": 1}).status_code == 200


def test_a_log_of_large_events_is_trimmed_early(tmp_path: Path) -> None:
    with Service(tmp_path, log_max_bytes="8MiB", snapshots_kept=1) as service:
        service.start()
        features = {f"f{number}": 0.1 * number for number in range(1, 12_000)}
        with redis.Redis.from_url(service.store_url) as store:
            log = keys_of("acme").log
            for number in range(200):  # some 40 MB
                label = {"features": features | {"n": number}, "label": 1 - 2 * (number % 2)}
                service.feedback("acme", **label).raise_for_status()
            wait_until(lambda: store.memory_usage(log) < 20 << 20, "the log is not trimmed")
            assert store.xlen(log) < 110
        digest = service.digest("acme")
        service.kill()
        service.start()
        assert service.digest("acme") == digest
