"""The writer of the logs: events that arrive during one round trip to the store go together with the next one.

A worker that is busy with predictions resumes a task only after all requests that have arrived meanwhile. So while
there is little feedback, the task that gives it makes the round trip itself: no other task has to be resumed, neither
to begin the round trip nor to receive its result.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence

import msgspec

from app.learning.errors import SluiceError
from app.learning.events import Outcome
from app.storage.errors import StoreDamaged, StoreUnavailable
from app.storage.event_codec import FeedbackRecord, LongFeedbackRecord, decode_record
from app.storage.event_log import Appended, Draft, Duplicate, Entry, EventLog, Failed, Group, Labelled, Refused
from app.tenants.cache import TenantCache
from app.tenants.errors import LogReplaced, TenantDamaged
from app.tenants.log_follower import Replayer
from app.tenants.tenant import Tenant

ATTEMPTS = 3
DRAFTS_AT_ONCE = 512
DRAFTS_PER_ROUND_TRIP = 2048
FEW_REQUESTS = 2  # in the last round trip: after more than these, it is better to wait until some have gathered

OWN = ""  # the fingerprint of a Duplicate that is this very draft

Repair = Callable[[Tenant], Awaitable[None]]


class AppendRequest(msgspec.Struct):
    """The drafts of one request, and the future of their results."""

    tenant: Tenant
    drafts: Sequence[Draft]
    done: "asyncio.Future[list[Outcome | Duplicate | Labelled]]"
    attempts: int = 0


class LogWriter:
    """Appends events, then learns them in the order of the log. One for each worker."""

    def __init__(self, log: EventLog, replayer: Replayer, cache: TenantCache, repair: Repair) -> None:
        self._log = log
        self._replayer = replayer
        self._cache = cache
        self._repair = repair
        self._waiting: list[AppendRequest] = []
        self._wake = asyncio.Event()
        self._is_writing = False
        self._last_count = 0  # requests of the last round trip
        self._tasks: set[asyncio.Task[None]] = set()

    async def append(self, tenant: Tenant, drafts: Sequence[Draft]) -> list[Outcome | Duplicate | Labelled]:
        """Append and learn; return for each draft its outcome, or why it was not appended."""
        results: list[Outcome | Duplicate | Labelled] = []
        for start in range(0, len(drafts), DRAFTS_AT_ONCE):
            done = asyncio.get_running_loop().create_future()
            request = AppendRequest(tenant, drafts[start : start + DRAFTS_AT_ONCE], done)
            is_idle = not self._is_writing and not self._waiting and self._last_count <= FEW_REQUESTS
            self._waiting.append(request)
            if is_idle:
                await self._write()
            else:
                self._wake.set()
            results += await request.done
        return results

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if not self._is_writing:
                await self._write()

    async def _write(self) -> None:
        """Make one round trip with the requests that have waited longest."""
        self._is_writing = True
        drafts = taken = 0
        while taken < len(self._waiting) and drafts < DRAFTS_PER_ROUND_TRIP:
            drafts += len(self._waiting[taken].drafts)
            taken += 1
        requests, self._waiting = self._waiting[:taken], self._waiting[taken:]
        self._last_count = len(requests)
        try:
            await self._round_trip(requests)
        finally:
            self._is_writing = False
            if self._waiting:
                self._wake.set()

    async def _round_trip(self, requests: list[AppendRequest]) -> None:
        groups: dict[Tenant, list[AppendRequest]] = {}
        for request in requests:
            groups.setdefault(request.tenant, []).append(request)
        for tenant in groups:
            tenant.in_flight += 1
        try:
            answers = await self._log.append([_group(tenant, some) for tenant, some in groups.items()])
        except Exception as error:  # noqa: BLE001 - every waiting request gets it
            answers = [error] * len(groups)  # type: ignore[list-item]
        except asyncio.CancelledError:  # of the task that makes the round trip; the events may be in the log or not
            _fail(requests, StoreUnavailable("the service is stopping"))
            for request in requests:
                if not request.done.cancelled():
                    request.done.exception()  # marks it as retrieved: the cancelled task does not await it any more
            for tenant in groups:
                self._finish(tenant)
            raise
        for (tenant, some), answer in zip(groups.items(), answers, strict=True):
            if isinstance(answer, Appended) and self._settled_at_once(tenant, some, answer):
                continue
            self._start(self._settle(tenant, some, answer))

    def _settled_at_once(self, tenant: Tenant, requests: list[AppendRequest], answer: Appended) -> bool:
        """Handle the usual case: no other worker has appended meanwhile, and the tenant is not locked."""
        if tenant.lock.locked() or answer.before != tenant.position:
            return False
        try:
            _resolve(tenant, requests, answer, self._learn(tenant, answer))
        except Exception as error:  # noqa: BLE001 - these requests get it; other tenants are not affected
            _fail(requests, error)
        self._finish(tenant)
        return True

    async def _settle(self, tenant: Tenant, requests: list[AppendRequest], answer: Appended | Refused | Failed) -> None:
        if isinstance(answer, Exception):
            _fail(requests, TenantDamaged(tenant.name, str(answer)) if isinstance(answer, StoreDamaged) else answer)
            self._finish(tenant)
            return
        try:
            if isinstance(answer, Refused):
                await self._retry_after_repair(tenant, requests)
                return
            async with tenant.lock:
                outcomes = await self._learn_in_order(tenant, answer)
            _resolve(tenant, requests, answer, outcomes)
        except LogReplaced as error:
            await self._repair(tenant)
            if isinstance(answer, Appended) and await self._is_learnt(tenant, answer):
                _resolve(tenant, requests, answer, {})
            _fail(requests, error)
        except Exception as error:  # noqa: BLE001 - every waiting request gets it
            _fail(requests, error)
        finally:
            self._finish(tenant)

    def _finish(self, tenant: Tenant) -> None:
        """End an append; apply entries that the change feed has announced meanwhile."""
        tenant.in_flight -= 1
        if tenant.known_version > tenant.state.version and not tenant.in_flight:
            self._start(self._catch_up(tenant, tenant.known_version))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _catch_up(self, tenant: Tenant, version: int) -> None:
        try:
            await self._replayer.catch_up(tenant, version)
        except LogReplaced:
            await self._repair(tenant)
        except SluiceError:
            return  # the follower tries again, and reports the error

    async def _retry_after_repair(self, tenant: Tenant, requests: list[AppendRequest]) -> None:
        """Nothing was appended, so it is safe to try again once the tenant is repaired."""
        await self._repair(tenant)
        for request in requests:
            request.attempts += 1
            if request.attempts >= ATTEMPTS:
                _fail([request], LogReplaced(tenant.name))
            else:
                self._waiting.append(request)
        self._wake.set()

    async def _learn_in_order(self, tenant: Tenant, answer: Appended) -> dict[int, Outcome]:
        """Learn the entries that others appended before, then ours.

        Our version alone does not prove that our entry was applied: if the store was emptied meanwhile and another
        worker has continued, that version is another event.
        """
        await self._replayer.catch_up_locked(tenant, answer.before.version)
        outcomes = self._learn(tenant, answer)
        if self._replayer.has_passed(tenant, answer.after) or await self._is_learnt(tenant, answer):
            return outcomes
        raise LogReplaced(tenant.name)

    async def _is_learnt(self, tenant: Tenant, answer: Appended) -> bool:
        """Whether our entry is still in the log and the tenant has passed it; the chain covers all earlier entries."""
        after = answer.after
        if tenant.incarnation != after.incarnation or not 0 < after.version <= tenant.state.version:
            return False
        try:
            found = await self._log.read(tenant.name, after.version - 1, 1)
        except StoreUnavailable:
            return False
        return bool(found) and found[0].chain == after.chain

    def _learn(self, tenant: Tenant, answer: Appended) -> dict[int, Outcome]:
        """Apply the entries that the follower has not applied already; return the outcome of each version."""
        new = [each for each in answer.results if isinstance(each, Entry) and each.version > tenant.state.version]
        return self._cache.apply_each(tenant, new)


def count_label(tenant: Tenant, payload: bytes, outcome: Outcome) -> None:
    """Count a label: only in the worker that appended it, so that replicas do not count it again."""
    record = decode_record(payload)
    if not isinstance(record, FeedbackRecord) or outcome.predicted is None:
        return
    tenant.counter.labelled(record.label, outcome.predicted)
    if isinstance(record, LongFeedbackRecord) and record.chosen_with:
        tenant.counter.reviewed("settled")
    if record.served_label is not None:
        served_at = record.served_at_milliseconds
        delay_seconds = None if served_at is None else (record.at_milliseconds - served_at) / 1000.0
        tenant.counter.labelled_served(record.label, record.served_label, delay_seconds)


def _group(tenant: Tenant, requests: list[AppendRequest]) -> Group:
    return Group(tenant.name, tenant.position, [draft for request in requests for draft in request.drafts])


def _resolve(tenant: Tenant, requests: list[AppendRequest], answer: Appended, outcomes: dict[int, Outcome]) -> None:
    results = iter([_result(tenant, each, outcomes) for each in answer.results])
    for request in requests:
        own = [next(results) for _ in request.drafts]
        if not request.done.done():
            request.done.set_result(own)


def _result(
    tenant: Tenant, result: Entry | Duplicate | Labelled, outcomes: dict[int, Outcome]
) -> Outcome | Duplicate | Labelled:
    if not isinstance(result, Entry):
        return result
    outcome = outcomes.get(result.version) or tenant.outcome_of(result.version)
    if outcome is None:  # the tenant was loaded again meanwhile
        return Duplicate(result.version, OWN)
    count_label(tenant, result.payload, outcome)
    return outcome


def _fail(requests: list[AppendRequest], error: Exception) -> None:
    for request in requests:
        if not request.done.done():
            request.done.set_exception(error)
