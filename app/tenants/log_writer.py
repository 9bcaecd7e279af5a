"""Feedback on its way into the log: what arrives while one journey is under way goes together on the next one.

A worker that is busy with predictions comes back to each task only after all requests that have come meanwhile. So
whoever gives feedback when there is little of it makes the journey himself: nobody has to be woken, neither to begin
it nor to hear of its end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass

from app.learning.errors import SluiceError
from app.learning.state import Outcome
from app.storage.errors import StoreDamaged, StoreUnavailable
from app.storage.event_log import Appended, Draft, Entry, Failed, Group, Log, Refused, Used
from app.tenants.errors import LogReplaced, TenantDamaged
from app.tenants.label_counts import count_label
from app.tenants.replay import CatchingUp
from app.tenants.tenant import Tenant

ATTEMPTS = 3
DRAFTS_AT_ONCE = 512
DRAFTS_PER_JOURNEY = 2048
FEW = 2  # errands of the journey before: if it had more, it is better to wait until some have gathered

OWN = ""  # the fingerprint of a use that is no earlier one, but this very draft

Mend = Callable[[Tenant], Awaitable[None]]


@dataclass(slots=True)
class Errand:
    """Drafts of one request, and whoever waits for them."""

    tenant: Tenant
    drafts: Sequence[Draft]
    done: "asyncio.Future[list[Outcome | Used]]"
    attempts: int = 0


class Appender:
    """One for each worker: append, then learn, in the log's order."""

    def __init__(self, log: Log, catching_up: CatchingUp, mend: Mend) -> None:
        self._log = log
        self._catching_up = catching_up
        self._mend = mend
        self._waiting: list[Errand] = []
        self._wake = asyncio.Event()
        self._is_under_way = False
        self._last = 0  # errands of the last journey
        self._settling: set[asyncio.Task[None]] = set()

    async def append(self, tenant: Tenant, drafts: Sequence[Draft]) -> list[Outcome | Used]:
        """Append and learn; for each draft what it did, or the earlier use of its feedback_id."""
        results: list[Outcome | Used] = []
        for start in range(0, len(drafts), DRAFTS_AT_ONCE):
            errand = Errand(tenant, drafts[start : start + DRAFTS_AT_ONCE], asyncio.get_running_loop().create_future())
            is_calm = not self._is_under_way and not self._waiting and self._last <= FEW
            self._waiting.append(errand)
            if is_calm:
                await self._go()
            else:
                self._wake.set()
            results += await errand.done
        return results

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if not self._is_under_way:
                await self._go()

    async def _go(self) -> None:
        """One journey; whoever has come meanwhile goes on the next one."""
        self._is_under_way = True
        errands = self._take()
        self._last = len(errands)
        try:
            await self._journey(errands)
        finally:
            self._is_under_way = False
            if self._waiting:
                self._wake.set()

    def _take(self) -> list[Errand]:
        """Those who have waited longest, but no more than one journey should carry."""
        drafts = taken = 0
        while taken < len(self._waiting) and drafts < DRAFTS_PER_JOURNEY:
            drafts += len(self._waiting[taken].drafts)
            taken += 1
        errands, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return errands

    async def _journey(self, errands: list[Errand]) -> None:
        groups: dict[Tenant, list[Errand]] = {}
        for errand in errands:
            groups.setdefault(errand.tenant, []).append(errand)
        for tenant in groups:
            tenant.in_flight += 1
        try:
            answers = await self._log.append([_group(tenant, some) for tenant, some in groups.items()])
        except Exception as error:  # noqa: BLE001 - told to everyone who waits
            answers = [error] * len(groups)  # type: ignore[list-item]
        except asyncio.CancelledError:  # of whoever makes the journey; nobody knows whether it has arrived
            _fail(errands, StoreUnavailable("the service is stopping"))
            for errand in errands:
                if not errand.done.cancelled():
                    errand.done.exception()  # he himself does not look at it any more
            for tenant in groups:
                self._landed(tenant)
            raise
        for (tenant, some), answer in zip(groups.items(), answers, strict=True):
            if isinstance(answer, Appended) and self._settled_at_once(tenant, some, answer):
                continue
            self._aside(self._settle(tenant, some, answer))

    def _settled_at_once(self, tenant: Tenant, errands: list[Errand], answer: Appended) -> bool:
        """The usual case: nobody else has appended meanwhile, and nobody holds the tenant steady."""
        if tenant.lock.locked() or answer.before != tenant.position:
            return False
        try:
            _tell(tenant, errands, answer, self._learn(tenant, answer))
        except Exception as error:  # noqa: BLE001 - told to those who wait; the other tenants' feedback goes on
            _fail(errands, error)
        self._landed(tenant)
        return True

    async def _settle(self, tenant: Tenant, errands: list[Errand], answer: Appended | Refused | Failed) -> None:
        if isinstance(answer, Exception):
            _fail(errands, TenantDamaged(tenant.name, str(answer)) if isinstance(answer, StoreDamaged) else answer)
            self._landed(tenant)
            return
        try:
            if isinstance(answer, Refused):
                await self._after_refusal(tenant, errands)
                return
            async with tenant.lock:
                outcomes = await self._learn_in_order(tenant, answer)
            _tell(tenant, errands, answer, outcomes)
        except LogReplaced as error:
            await self._mend(tenant)
            if isinstance(answer, Appended) and await self._is_learnt(tenant, answer):
                _tell(tenant, errands, answer, {})
            _fail(errands, error)
        except Exception as error:  # noqa: BLE001 - told to everyone who waits
            _fail(errands, error)
        finally:
            self._landed(tenant)

    def _landed(self, tenant: Tenant) -> None:
        """An append is over; what the change feed told of meanwhile is still to be applied."""
        tenant.in_flight -= 1
        if tenant.heard > tenant.state.version and not tenant.in_flight:
            self._aside(self._catch_up(tenant, tenant.heard))

    def _aside(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _catch_up(self, tenant: Tenant, version: int) -> None:
        try:
            await self._catching_up.to(tenant, version)
        except LogReplaced:
            await self._mend(tenant)
        except SluiceError:
            return  # the follower looks again, and says what is the matter

    async def _after_refusal(self, tenant: Tenant, errands: list[Errand]) -> None:
        """Nothing was appended, so it is safe to try again once the tenant is in order."""
        await self._mend(tenant)
        for errand in errands:
            errand.attempts += 1
            if errand.attempts >= ATTEMPTS:
                _fail([errand], LogReplaced(tenant.name))
            else:
                self._waiting.append(errand)
        self._wake.set()

    async def _learn_in_order(self, tenant: Tenant, answer: Appended) -> dict[int, Outcome]:
        """Learn what others appended before, then ours.

        By its version alone ours may seem to be applied already. If the store was emptied meanwhile, and another
        worker has written on, that was another event.
        """
        await self._catching_up.locked_to(tenant, answer.before.version)
        outcomes = self._learn(tenant, answer)
        if self._catching_up.has_passed(tenant, answer.after) or await self._is_learnt(tenant, answer):
            return outcomes
        raise LogReplaced(tenant.name)

    async def _is_learnt(self, tenant: Tenant, answer: Appended) -> bool:
        """Whether the log still has what was appended, and the tenant has followed it: the chain covers all before."""
        after = answer.after
        if tenant.born != after.born or not 0 < after.version <= tenant.state.version:
            return False
        try:
            found = await self._log.read(tenant.name, after.version - 1, 1)
        except StoreUnavailable:
            return False
        return bool(found) and found[0].chain == after.chain

    def _learn(self, tenant: Tenant, answer: Appended) -> dict[int, Outcome]:
        """Apply what the follower has not applied already; what each version did."""
        new = [each for each in answer.results if isinstance(each, Entry) and each.version > tenant.state.version]
        return self._catching_up.apply_each(tenant, new)


def _group(tenant: Tenant, errands: list[Errand]) -> Group:
    return Group(tenant.name, tenant.position, [draft for errand in errands for draft in errand.drafts])


def _tell(tenant: Tenant, errands: list[Errand], answer: Appended, outcomes: dict[int, Outcome]) -> None:
    results = iter([_result(tenant, each, outcomes) for each in answer.results])
    for errand in errands:
        mine = [next(results) for _ in errand.drafts]
        if not errand.done.done():
            errand.done.set_result(mine)


def _result(tenant: Tenant, result: Entry | Used, outcomes: dict[int, Outcome]) -> Outcome | Used:
    if isinstance(result, Used):
        return result
    outcome = outcomes.get(result.version) or tenant.outcome_of(result.version)
    if outcome is None:  # it can only be forgotten if the tenant was loaded anew meanwhile
        return Used(result.version, OWN)
    count_label(tenant, result.payload, outcome)
    return outcome


def _fail(errands: list[Errand], error: Exception) -> None:
    for errand in errands:
        if not errand.done.done():
            errand.done.set_exception(error)
