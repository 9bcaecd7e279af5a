"""What was acknowledged, and whether the store has it: each label once, in a log without a gap."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry

from app.storage.client.address import address_of
from app.storage.event_codec import FeedbackRecord, decode_record
from app.storage.event_log import next_chain
from app.storage.redis_keys import keys_of

READ_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of the labels that were acknowledged."""

    acknowledged: int
    lost: int
    twice: int
    broken: int  # logs with a gap, or with an entry that does not follow on the one before it


@dataclass(frozen=True, slots=True)
class StoredLog:
    """The log of one tenant, from its first entry on: so few labels are never trimmed."""

    born: str
    entries: list[tuple[int, bytes, str]]  # version, payload, chain

    @property
    def feedback_ids(self) -> Counter[str]:
        """How often each id is there."""
        records = [decode_record(payload) for _, payload, _ in self.entries]
        return Counter(
            record.feedback_id for record in records if isinstance(record, FeedbackRecord) and record.feedback_id
        )

    @property
    def is_whole(self) -> bool:
        """Whether versions follow each other, and every entry chains onto the one before."""
        chain = self.born
        for expected, (version, payload, found) in enumerate(self.entries, start=1):
            chain = next_chain(chain, payload)
            if version != expected or found != chain:
                return False
        return True


class Ledger:
    """The labels that services have acknowledged, by tenant."""

    def __init__(self) -> None:
        self._given: defaultdict[str, set[str]] = defaultdict(set)

    def note(self, tenant: str, *feedback_ids: str) -> None:
        """These were acknowledged."""
        self._given[tenant].update(feedback_ids)

    def given(self, tenants: Iterable[str] | None = None) -> dict[str, frozenset[str]]:
        """What was acknowledged until now, of some tenants or of all."""
        return {tenant: frozenset(self._given[tenant]) for tenant in (tenants or tuple(self._given))}


def checked(url: str, given: Mapping[str, frozenset[str]]) -> Checked:
    """Read the logs, and compare them with what had been acknowledged before."""
    acknowledged = lost = twice = broken = 0
    for tenant, log in stored_logs(url, list(given)):
        found = log.feedback_ids
        acknowledged += len(given[tenant])
        lost += len(given[tenant] - found.keys())
        twice += sum(times > 1 for times in found.values())
        broken += not log.is_whole
    return Checked(acknowledged, lost, twice, broken)


def stored_logs(url: str, tenants: Sequence[str]) -> Iterator[tuple[str, StoredLog]]:
    """The logs as they lie in the cluster, read past the services."""
    with client_of(url) as client:
        for start in range(0, len(tenants), READ_AT_ONCE):
            some = tenants[start : start + READ_AT_ONCE]
            with client.pipeline() as pipeline:
                for tenant in some:
                    pipeline.hget(keys_of(tenant).meta, "born")
                    pipeline.xrange(keys_of(tenant).log)
                answers = pipeline.execute()
            for tenant, born, entries in zip(some, answers[::2], answers[1::2], strict=True):
                yield tenant, _stored_log(born, entries)


def client_of(url: str) -> RedisCluster:
    """A client of our own, which sends nothing twice."""
    nodes = [ClusterNode(*node) for node in address_of(url).nodes]  # type: ignore[no-untyped-call]  # some may be away
    return RedisCluster(startup_nodes=nodes, protocol=2, socket_timeout=5.0, retry=Retry(NoBackoff(), 0))


def _stored_log(born: bytes | None, entries: Sequence[Any]) -> StoredLog:
    found = [(int(name[2:]), fields[b"p"], fields[b"c"].decode()) for name, fields in entries]
    return StoredLog((born or b"").decode(), found)
