"""The expected state of a tenant, without the service: a replay of its log from the store."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from app.learning.snapshot.model_file import decode as decode_snapshot
from app.learning.state import TenantState, advance
from app.storage.client.address import address_of
from app.storage.event_codec import FeedbackRecord, decode_all, decode_record
from app.storage.event_log import next_chain
from app.storage.redis_keys import keys_of
from tests.reliability.traffic import Feeder
from tests.services import Service, wait_until


@dataclass(frozen=True)
class StoredLog:
    """The stored log of a tenant, with its snapshots."""

    incarnation: str
    version: int  # in the metadata
    entries: list[tuple[int, bytes, str]]  # version, payload, chain
    snapshots: dict[int, bytes]
    chunks: dict[bytes, bytes]

    @property
    def feedback_ids(self) -> Counter[str]:
        records = [decode_record(payload) for _, payload, _ in self.entries]
        return Counter(
            record.feedback_id for record in records if isinstance(record, FeedbackRecord) and record.feedback_id
        )

    def check_order(self) -> None:
        """Check that there is no gap and no fork."""
        versions = [version for version, _, _ in self.entries]
        assert versions == list(range(self.version - len(versions) + 1, self.version + 1))
        chain = self.incarnation if versions[:1] == [1] else None
        for version, payload, found in self.entries:
            assert chain is None or found == next_chain(chain, payload), f"version {version} follows another history"
            chain = found

    def replayed(self) -> TenantState:
        """Replay the log from its beginning, or from the oldest snapshot if it is trimmed."""
        if self.entries and self.entries[0][0] == 1:
            return self._applied(TenantState())
        assert self.snapshots, "the log does not begin with version 1, and there is no snapshot"
        return self._applied(self.restored(min(self.snapshots)))

    def restored(self, version: int) -> TenantState:
        """Return the state of a snapshot."""
        return decode_snapshot(self.snapshots[version], lambda chunk: self.chunks[chunk.hash.encode()])

    def check_snapshots(self) -> None:
        """Check that every snapshot with the log after it leads to the same state."""
        digests = {self._applied(self.restored(version)).digest for version in self.snapshots}
        assert digests <= {self.replayed().digest}

    def _applied(self, state: TenantState) -> TenantState:
        behind = [(version, payload) for version, payload, _ in self.entries if version > state.version]
        for (version, _), event in zip(behind, decode_all([payload for _, payload in behind]), strict=True):
            assert version == state.version + 1
            advance(state, event)
        return state


def client_of(url: str) -> Any:  # noqa: ANN401 - a client of a server, or of a cluster
    """Return a redis-py client for any kind of store."""
    address = address_of(url)
    options: Any = {"protocol": 2, "socket_timeout": 5.0, "retry": Retry(NoBackoff(), 0)}
    if address.kind == "cluster":
        host, port = address.nodes[0]
        return RedisCluster(host=host, port=port, **options)
    if address.kind == "sentinel":
        return Sentinel(address.nodes, sentinel_kwargs=options).master_for(address.primary, **options)  # type: ignore[no-untyped-call]
    return redis.Redis.from_url(url, **options)


def stored_log(url: str, tenant: str) -> StoredLog:
    """Read log and snapshots of a tenant in one transaction (except in a cluster, where redis-py cannot)."""
    keys = keys_of(tenant)
    with client_of(url) as client, client.pipeline(transaction=not isinstance(client, RedisCluster)) as pipeline:
        pipeline.hgetall(keys.meta).xrange(keys.log).hgetall(keys.headers).hgetall(keys.chunks)
        meta, entries, headers, chunks = pipeline.execute()
    return StoredLog(
        meta[b"born"].decode(),
        int(meta[b"version"]),
        [(int(name[2:]), fields[b"p"], fields[b"c"].decode()) for name, fields in entries],
        {int(version): header for version, header in headers.items()},
        chunks,
    )


def version_of(url: str, tenant: str) -> int | None:
    """Return the version of a log; None if there is none or the store is down."""
    try:
        with client_of(url) as client:
            version = client.hget(keys_of(tenant).meta, "version")
    except (redis.ConnectionError, redis.TimeoutError):
        return None
    return None if version is None else int(version)


def wait_until_applied(services: Sequence[Service], tenant: str) -> None:
    """Wait until every worker of every service has applied the whole log."""

    def is_applied() -> bool:
        versions = {shown["version"] for service in services for shown in service.each_worker(f"/tenants/{tenant}")}
        return versions == {version_of(services[0].store_url, tenant)}

    wait_until(is_applied, f"the services do not all apply the log of {tenant}")


def wait_for_labels(url: str, tenant: str, *feeders: Feeder) -> None:
    """Wait until the log has every acknowledged label: a store that has lost some gets them back soon."""
    labels = {name for feeder in feeders for name in feeder.acknowledged}
    wait_until(lambda: labels <= stored_log(url, tenant).feedback_ids.keys(), "acknowledged labels are lost")


def check(services: Sequence[Service], tenant: str, *feeders: Feeder) -> StoredLog:
    """Check that every worker has the state of a replay, and that the log has every label once."""
    wait_until_applied(services, tenant)
    log = stored_log(services[0].store_url, tenant)
    log.check_order()
    log.check_snapshots()
    check_labels(log, *feeders)
    digest = log.replayed().digest
    for service in services:
        assert [shown["digest"] for shown in service.each_worker(f"/tenants/{tenant}")] == [digest] * service.workers
    return log


def check_labels(log: StoredLog, *feeders: Feeder) -> None:
    """Check that acknowledged labels are in the log once, at the answered version; the others at most once."""
    found = log.feedback_ids
    versions = {
        record.feedback_id: version
        for version, payload, _ in log.entries
        if isinstance(record := decode_record(payload), FeedbackRecord)
    }
    check_once(log)
    for feeder in feeders:
        assert [name for name in feeder.acknowledged if name not in found] == []
        assert {name: given["version"] for name, given in feeder.acknowledged.items()} == {
            name: versions[name] for name in feeder.acknowledged
        }


def check_once(log: StoredLog) -> None:
    assert [name for name, times in log.feedback_ids.items() if times > 1] == []
