"""Whether the store has what was acknowledged: each label once, in a log without a gap."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry

from app.storage.client.address import address_of
from app.storage.redis_keys import keys_of
from tests.reliability.oracle import StoredLog

READ_AT_ONCE = 200
APPENDED_AGAIN = re.compile(r"had lost (\d+) events; they were appended again")


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of the labels that were acknowledged."""

    acknowledged: int = 0
    lost: int = 0
    twice: int = 0
    broken: int = 0  # logs with a gap, or with an entry that does not follow on the one before it

    def __str__(self) -> str:
        return f"{self.acknowledged:,}: {self.lost:,} lost, {self.twice:,} learnt twice, {self.broken:,} logs broken"


def check(url: str, given: Mapping[str, frozenset[str]]) -> Checked:
    """Read the logs past the services, and compare them with what had been acknowledged before."""
    nodes = [ClusterNode(*node) for node in address_of(url).nodes]  # type: ignore[no-untyped-call]  # some may be away
    tenants, logs = list(given), {}
    with RedisCluster(startup_nodes=nodes, protocol=2, socket_timeout=5.0, retry=Retry(NoBackoff(), 0)) as client:
        for start in range(0, len(tenants), READ_AT_ONCE):
            some = tenants[start : start + READ_AT_ONCE]
            with client.pipeline() as pipeline:
                for tenant in some:
                    pipeline.hget(keys_of(tenant).meta, "born")
                    pipeline.xrange(keys_of(tenant).log)
                answers = pipeline.execute()
            for tenant, incarnation, entries in zip(some, answers[::2], answers[1::2], strict=True):
                found = [(int(name[2:]), fields[b"p"], fields[b"c"].decode()) for name, fields in entries]
                logs[tenant] = StoredLog((incarnation or b"").decode(), found[-1][0] if found else 0, found, {}, {})
    return compare(logs, given)


def compare(logs: Mapping[str, StoredLog], given: Mapping[str, frozenset[str]]) -> Checked:
    found = {tenant: log.feedback_ids for tenant, log in logs.items()}
    return Checked(
        acknowledged=sum(map(len, given.values())),
        lost=sum(len(names - found[tenant].keys()) for tenant, names in given.items()),
        twice=sum(times > 1 for counts in found.values() for times in counts.values()),
        broken=sum(not is_whole(log) for log in logs.values()),
    )


def is_whole(log: StoredLog) -> bool:
    """Whether it begins with version 1 (so few labels are never trimmed), without a gap or a fork."""
    try:
        log.check_order()
    except AssertionError:
        return False
    return not log.entries or log.entries[0][0] == 1


def appended_again(service_logs: Iterable[Path]) -> int:
    """Events that a store had lost, and services appended again, by their own logs."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in service_logs)
    return sum(int(found) for text in texts for found in APPENDED_AGAIN.findall(text))
