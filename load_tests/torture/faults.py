"""The faults: each step of the schedule is done to the deployment, and healed."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

import httpx

from load_tests.harness.processes import in_thread
from load_tests.soak.deployment import until
from load_tests.torture.deployment import PATIENCE_SECONDS, Deployment, Node
from load_tests.torture.history import Disruption, History
from load_tests.torture.schedule import Fault, Lane, Step

STOP_SECONDS = 15.0  # docs/operations.md: "Allow the service 15 s before you kill it."
REPAIR_SECONDS = 6.0  # without a repair: then services have found what a store has lost, and appended it again
LAG_SECONDS = (0.5, 3.0)  # that the replica is behind
DELAY_SECONDS = 0.15
PAUSE_SECONDS = 0.4  # between two resets
DEADLY = frozenset(  # of these, only one at a time
    {
        Fault.FAILOVER,
        Fault.DEATH_TOGETHER,
        Fault.KILL_WORKER,
        Fault.KILL_SERVICE,
        Fault.STOP_WORKER,
        Fault.STOP_SERVICE,
        Fault.RESTART_SERVICE,
    }
)


class Faults:
    """Runs the steps of all lanes."""

    def __init__(
        self,
        deployment: Deployment,
        history: History,
        evict: Callable[[], Awaitable[None]],
    ) -> None:
        self.active: dict[Lane, str] = {}
        self.failures: list[str] = []  # processes that did not end or start as they should
        self._deployment = deployment
        self._history = history
        self._evict = evict
        # With `local`, a service that dies with its primary takes labels with it: failovers and deaths are kept apart.
        self._deaths = asyncio.Lock()
        self._network = asyncio.Lock()
        self._actions: dict[Fault, Callable[[Step], Awaitable[str]]] = {
            Fault.KILL_STORE: self._kill_store,
            Fault.STOP_STORE: self._stop_store,
            Fault.FULL_DISK: self._fill_disk,
            Fault.FAILOVER: self._fail_over,
            Fault.DEATH_TOGETHER: self._die_together,
            Fault.STORE_CLOCK: self._jump_store,
            Fault.KILL_WORKER: self._kill_worker,
            Fault.KILL_SERVICE: self._kill_service,
            Fault.STOP_WORKER: self._stop_worker,
            Fault.STOP_SERVICE: self._stop_service,
            Fault.RESTART_SERVICE: self._restart_service,
            Fault.EVICTION: self._evict_all,
            Fault.SERVICE_CLOCK: self._jump_service,
            Fault.RESETS: self._reset,
            Fault.DELAYS: self._delay,
            Fault.HALF_REPLIES: self._cut,
            Fault.HALF_REQUESTS: self._cut,
        }

    async def run(self, steps: list[Step], began: float) -> None:
        """Run each lane's steps in order, each when it is due or when the one before it is over."""
        async with asyncio.TaskGroup() as lanes:
            for lane in Lane:
                lanes.create_task(self._run_lane([step for step in steps if step.lane is lane], began))

    async def _run_lane(self, steps: list[Step], began: float) -> None:
        for step in steps:
            await asyncio.sleep(began + step.at_seconds - time.monotonic())
            if step.lane is Lane.NETWORK:
                async with self._network:
                    await self._do(step)
            elif step.fault in DEADLY:
                async with self._deaths:
                    await self._do(step)
            else:
                await self._do(step)

    async def _do(self, step: Step) -> None:
        target = "store" if step.lane is Lane.STORE else self._deployment.nodes[step.service].folder.name
        disruption = Disruption(step.fault, target, time.monotonic(), float("inf"))
        self._history.disruptions.append(disruption)
        self.active[step.lane] = f"{step.fault} ({target})"
        try:
            disruption.detail = await self._actions[step.fault](step)
        except (AssertionError, TimeoutError) as error:  # a process that does not come back
            disruption.detail = f"failed: {error}"
            self.failures.append(f"{step.fault} of {target}: {error}")
        finally:
            self.active.pop(step.lane)
            disruption.end = time.monotonic()
            self._history.ended(disruption)

    def _node(self, step: Step) -> Node:
        return self._deployment.nodes[step.service]

    # The store.

    async def _kill_store(self, step: Step) -> str:
        store = self._deployment.primary
        store.kill()
        await asyncio.sleep(step.seconds / 3)
        await in_thread(store.start)
        return "started again on its disk"

    async def _stop_store(self, step: Step) -> str:
        store = self._deployment.primary
        with _stopped([store.pid]):
            await asyncio.sleep(step.seconds)
        return f"for {step.seconds:.1f} s"

    async def _fill_disk(self, step: Step) -> str:
        store = self._deployment.primary
        store.fill_disk(100 * step.amount)  # so that a write ends within an entry
        ended = await until(lambda: store.has_ended, step.seconds + 2.0)
        if not ended:
            store.free_disk()
            return "nothing was written meanwhile"
        store.process = None
        await asyncio.sleep(step.seconds / 3)
        await in_thread(store.start)
        return "it ended, and was started again with space"

    async def _fail_over(self, step: Step) -> str:
        """Promote the replica while it lags, with or without evictions: it lacks what was acknowledged lately."""
        lag, evicted = min(max(step.seconds / 2, LAG_SECONDS[0]), LAG_SECONDS[1]), step.amount % 3
        await self._deployment.replicated()
        self._deployment.replication.shut()
        await asyncio.sleep(lag)
        if evicted:
            await self._evict()
        await self._deployment.promote()
        await self._deployment.restore_replica()
        async with self._network:  # a repair needs the store; a service that died now would take labels with it
            await self._repaired()
        return f"the replica was {lag:.1f} s behind{', and tenants had left memory' if evicted else ''}"

    async def _repaired(self) -> None:
        """Wait until no service has repaired a tenant for some seconds."""
        since, deadline, repairs = time.monotonic(), time.monotonic() + PATIENCE_SECONDS, -1.0
        while time.monotonic() < min(since + REPAIR_SECONDS, deadline):
            with suppress(OSError, httpx.HTTPError):
                if repairs != (repairs := await in_thread(self._deployment.repairs)):
                    since = time.monotonic()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _die_together(self, step: Step) -> str:
        """Only for `replicated`: what was acknowledged is on the replica."""
        await self._deployment.replicated()
        self._deployment.replication.shut()
        await asyncio.sleep(min(step.seconds, LAG_SECONDS[1]))
        for node in self._deployment.nodes:
            node.kill()
        await self._deployment.promote()
        await self._deployment.restore_replica()
        await asyncio.gather(*(in_thread(node.start) for node in self._deployment.nodes))
        return "all services were killed"

    async def _jump_store(self, step: Step) -> str:
        if not self._deployment.store_has_clock:
            return "left out: libfaketime is not installed"
        self._deployment.primary.clock.jump(step.amount)
        await asyncio.sleep(step.seconds)
        self._deployment.primary.clock.jump(-step.amount)
        return f"by {step.amount} s and back"

    # Processes of the services.

    async def _kill_worker(self, step: Step) -> str:
        node = self._node(step)
        workers = node.worker_pids()
        if not workers:
            return await self._kill_service(step)
        victim = workers[step.amount % len(workers)]
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        back = await until(lambda: len(set(node.worker_pids()) - {victim}) == node.workers, PATIENCE_SECONDS)
        await in_thread(node.wait_until_ready)
        return "its parent started another" if back else "no worker came in its place"

    async def _kill_service(self, step: Step) -> str:
        node = self._node(step)
        node.kill()
        await asyncio.sleep(step.seconds / 3)
        await in_thread(node.start)
        return "started again"

    async def _stop_worker(self, step: Step) -> str:
        node = self._node(step)
        workers = node.worker_pids() or [node.pid]
        with _stopped([workers[step.amount % len(workers)]]):
            await asyncio.sleep(step.seconds)
        return f"for {step.seconds:.1f} s"

    async def _stop_service(self, step: Step) -> str:
        with _stopped(self._node(step).processes()):
            await asyncio.sleep(step.seconds)
        return f"for {step.seconds:.1f} s"

    async def _restart_service(self, step: Step) -> str:
        node = self._node(step)
        text = "ended with 0"
        try:
            ending = await in_thread(node.terminate)
            if ending.code or ending.seconds > STOP_SECONDS:
                text = f"ended with {ending.code} after {ending.seconds:.1f} s"
        except subprocess.TimeoutExpired:
            text = "did not end on SIGTERM"
        if text != "ended with 0":
            self.failures.append(f"{node.folder.name} {text}")
        node.kill()
        await in_thread(node.start)
        return text

    async def _evict_all(self, _: Step) -> str:
        await self._evict()
        return "large tenants were used"

    async def _jump_service(self, step: Step) -> str:
        node = self._node(step)
        node.clock.jump(step.amount)
        await asyncio.sleep(step.seconds)
        node.clock.jump(-step.amount)
        return f"by {step.amount} s and back"

    # The network between a service and the store.

    async def _reset(self, step: Step) -> str:
        broken, end = 0, time.monotonic() + step.seconds
        while time.monotonic() < end:
            broken += self._node(step).proxy.reset()
            await asyncio.sleep(PAUSE_SECONDS)
        return f"of {broken} connections"

    async def _delay(self, step: Step) -> str:
        proxy = self._node(step).proxy
        proxy.delay_seconds = DELAY_SECONDS
        await asyncio.sleep(step.seconds)
        proxy.delay_seconds = 0.0
        return f"of {DELAY_SECONDS:g} s each"

    async def _cut(self, step: Step) -> str:
        proxy, attribute = self._node(step).proxy, "cut_replies"
        if step.fault is Fault.HALF_REQUESTS:
            attribute = "cut_requests"
        setattr(proxy, attribute, step.amount)
        await asyncio.sleep(step.seconds)
        left = getattr(proxy, attribute)
        setattr(proxy, attribute, 0)
        return f"{step.amount - left} of them"


@contextmanager
def _stopped(pids: list[int]) -> Iterator[None]:
    """SIGSTOP for the length of a block; a process that was killed meanwhile needs no SIGCONT."""
    _signal(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(pids, signal.SIGCONT)


def _signal(pids: list[int], sign: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, sign)
