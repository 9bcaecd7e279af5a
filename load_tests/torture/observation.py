"""What a run leaves behind: the logs in the store, a replay of each, what every worker shows, which keys are valid."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx

from app.learning.events import RetractionMade
from app.storage.event_codec import (
    ConfigRecord,
    FeedbackRecord,
    RetractionRecord,
    decode_record,
    label_hash,
    taken_back,
)
from app.storage.redis_keys import TENANTS
from load_tests.cluster.logs import is_whole
from load_tests.harness.report import say
from load_tests.torture.deployment import Deployment, Node
from load_tests.torture.faults import STOP_SECONDS
from load_tests.torture.history import GONE, Found, Logged, TenantFound
from load_tests.torture.workload import FIXED
from tests.reliability.oracle import StoredLog, stored_log
from tests.services import new_client, wait_until

REST_SECONDS = 30.0
KEYS = 80  # that are tried, the latest


@dataclass(frozen=True, slots=True)
class Worker:
    """A kept connection to one worker of a service."""

    name: str
    client: httpx.Client

    def show(self, tenant: str) -> tuple[int, str]:
        """Version and digest of a tenant."""
        answer = self.client.get(f"/tenants/{tenant}")
        if answer.status_code == httpx.codes.NOT_FOUND:
            return 0, GONE
        shown: dict[str, Any] = answer.json()
        return shown.get("version", -1), shown.get("digest", f"{answer.status_code} {answer.text}")

    def status_of(self, secret: str) -> int:
        body = {"tenant": FIXED[0], "features": {"word:1": 1.0}, "keep": False}
        return self.client.post("/predict", json=body, headers={"x-api-key": secret}).status_code


def observe(deployment: Deployment, tenants: Iterable[str], secrets: Mapping[str, str]) -> Found:
    """Look at everything, after all faults are healed and all clients have ended."""
    found = Found()
    with ExitStack() as stack:
        fresh = stack.enter_context(deployment.new_node(0, "a fresh service", workers=1))
        nodes = [*deployment.nodes, fresh.start()]
        for node in nodes:
            wait_until(node.is_ready, f"{node.folder.name} is not ready: {node.log()[-800:]}", REST_SECONDS)
        workers = [worker for node in nodes for worker in stack.enter_context(_workers(node, deployment.admin_key))]
        for tenant in sorted({*tenants, *_listed(deployment)}):
            if (state := _tenant(deployment, workers, tenant)) is not None:
                found.tenants[tenant] = state
        for name, secret in list(secrets.items())[-KEYS:]:
            found.keys[name] = {worker.status_of(secret) for worker in workers}
    found.unretracted = _unretracted(deployment)
    return found


def end(deployment: Deployment) -> list[str]:
    """Send SIGTERM to the services; return what did not end well."""
    flaws = []
    for node in deployment.nodes:
        try:
            ending = node.terminate()
        except subprocess.TimeoutExpired:
            flaws.append(f"{node.folder.name} did not end on SIGTERM")
            continue
        if ending.code or ending.seconds > STOP_SECONDS:
            flaws.append(f"{node.folder.name} ended with {ending.code} after {ending.seconds:.1f} s")
    return flaws


@contextmanager
def _workers(node: Node, key: str) -> Iterator[list[Worker]]:
    """Connect until every worker has one connection; the request id of an answer names the worker."""
    with ExitStack() as stack:
        found: dict[str, httpx.Client] = {}

        def are_found() -> bool:
            client = stack.enter_context(new_client())
            client.base_url = httpx.URL(node.url)
            client.headers["x-api-key"] = key
            found.setdefault(client.get("/livez").headers["x-request-id"].partition("-")[0], client)
            return len(found) == node.workers

        wait_until(are_found, f"not all workers of {node.folder.name} answer")
        names = [f"{node.folder.name}, worker {number}" for number in range(1, node.workers + 1)]
        yield [Worker(name, client) for name, client in zip(names, found.values(), strict=True)]


def _listed(deployment: Deployment) -> list[str]:
    return [name.decode() for name in deployment.primary.ask("ZRANGE", TENANTS, 0, -1)]


def _tenant(deployment: Deployment, workers: list[Worker], tenant: str) -> TenantFound | None:
    """Wait until every worker shows the version of the log; None if the tenant is nowhere."""
    shown: dict[str, tuple[int, str]] = {}

    def is_at_rest() -> bool:
        shown.update({worker.name: worker.show(tenant) for worker in workers})
        log = _log(deployment, tenant)
        return {version for version, _ in shown.values()} == {log.version if log else 0}

    try:
        wait_until(is_at_rest, "", REST_SECONDS)
    except AssertionError:
        say(f"{tenant}: not every worker shows the version of the log: {shown}")
    log, digests = _log(deployment, tenant), {name: digest for name, (_, digest) in shown.items()}
    if log is not None:
        whole = is_whole(log) or bool(log.snapshots)
        return TenantFound(tenant, _events(log), whole, log.replayed().digest, digests)
    return TenantFound(tenant, [], replayed=GONE, shown=digests) if set(digests.values()) != {GONE} else None


def _unretracted(deployment: Deployment) -> set[str]:
    """The tenants with a retraction that a service could not append again."""
    texts = (node.whole_log() for node in deployment.nodes)
    return {tenant for text in texts for tenant in re.findall(r"tenant (\S+): a retraction is lost", text)}


def _log(deployment: Deployment, tenant: str) -> StoredLog | None:
    try:
        return stored_log(deployment.primary.url, tenant)
    except KeyError:  # it is deleted
        return None


def _events(log: StoredLog) -> list[Logged]:
    records = [decode_record(payload) for _, payload, _ in log.entries]
    retractions = [record for record in records if isinstance(record, RetractionRecord)]
    retracted = taken_back(RetractionMade(frozenset(each.labels), frozenset(each.restores)) for each in retractions)
    restored = {label for each in retractions for label in each.restores}
    events = []
    for (version, payload, _), record in zip(log.entries, records, strict=True):
        if isinstance(record, FeedbackRecord):
            name, label = record.feedback_id or record.moderator or "", label_hash(payload)
            logged = Logged(version, name, record.label, prediction_id=record.prediction_id)
            events.append(replace(logged, retracted=label in retracted, restored=label in restored))
        else:
            changes = record.changes if isinstance(record, ConfigRecord) else {}
            events.append(Logged(version, "", changes=changes))
    return events
