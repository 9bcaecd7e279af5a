"""What is done to the deployment while it is under load."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from load_tests.soak.deployment import HASTY_SECONDS, PATIENT_SECONDS, Deployment, Node
from load_tests.soak.ledger import Ledger
from load_tests.soak.plan import Deed, Step
from load_tests.soak.watching import Watch

STOP_SECONDS = 15.0  # docs/operations.md: "Give the service 15 s before a kill."
READY_SECONDS = 60.0
FAILOVER_SECONDS = 60.0
REPAIR_SECONDS = 5.0  # in which services find what a store has lost, and give it back; then the next deed may come
UNHEARD_LABELS = 20  # acknowledged by the old primary while the new one was cut off
UNHEARD_SECONDS = 3.0  # at most: Sentinel takes no replica that was cut off for long


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A deed, and how long it was felt: until a service was ready again, or labels were acknowledged again."""

    deed: Deed
    begin: float
    end: float
    clean: bool = True  # a service that is asked to stop ends with 0, in time

    @property
    def seconds(self) -> float:
        """How long."""
        return self.end - self.begin


@dataclass(slots=True)
class Disturber:
    """Does what the plan says, one deed after the other."""

    deployment: Deployment
    ledger: Ledger
    watch: Watch

    def do(self, step: Step) -> Disturbance:
        """One step of the plan."""
        match step.deed:
            case Deed.FAILOVER:
                return self._fail_over()
            case Deed.COMEBACK:
                return self._come_back()
            case Deed.TERMINATE | Deed.KILL:
                return self._restart(self.deployment.nodes[step.service], step.deed)

    def _restart(self, node: Node, deed: Deed) -> Disturbance:
        begin = time.monotonic()
        self.watch.say(f"{node.name}: {deed}")
        self.watch.ends(node)
        clean = self._stopped_gently(node) if deed is Deed.TERMINATE else True
        node.kill()
        stopped = time.monotonic()
        node.start()
        if not self.watch.until(node.answers_ready, READY_SECONDS):
            raise TimeoutError(f"{node.name} does not become ready: {node.log_text[-2000:]}")
        self.watch.begins(node)
        end = time.monotonic()
        self.watch.say(f"{node.name}: stopped after {stopped - begin:.1f} s, ready {end - stopped:.1f} s later")
        return Disturbance(deed, begin, end, clean)

    def _stopped_gently(self, node: Node) -> bool:
        node.ask_to_stop()
        self.watch.until(lambda: node.exit_code is not None, STOP_SECONDS)
        if node.exit_code != 0:
            self.watch.say(f"{node.name}: did not end with 0 within {STOP_SECONDS:g} s, but {node.exit_code}")
        return node.exit_code == 0

    def _fail_over(self) -> Disturbance:
        """Kill the primary when its replica lags behind: the new primary lacks labels that were acknowledged."""
        with self._replica_cut_off():
            begin = time.monotonic()
            self.watch.say("the primary of the store: kill -9")
            self.deployment.store.kill_primary()
        self.deployment.let_sentinel_wait(HASTY_SECONDS)
        self._wait("Sentinel does not name the replica the primary", self._is_named)
        self.deployment.has_failed_over = True
        self.deployment.let_sentinel_wait(PATIENT_SECONDS)
        self.watch.say(f"Sentinel: the replica is the primary, after {time.monotonic() - begin:.1f} s")
        self._wait("no label is acknowledged any more", self._more_labels(1))
        end = time.monotonic()
        self.watch.say(f"labels are acknowledged again, {end - begin:.1f} s after the kill")
        self.watch.until_time(end + REPAIR_SECONDS)  # a service that dies now would take with it what only it knows
        return Disturbance(Deed.FAILOVER, begin, end)

    @contextmanager
    def _replica_cut_off(self) -> Iterator[None]:
        """Some labels are acknowledged that the replica does not hear of."""
        store = self.deployment.store
        self.watch.say("the replica of the store is cut off")
        store.replica.freeze()
        try:
            store.primary.ask("CLIENT", "KILL", "TYPE", "replica")  # else it would find all in its connection's buffer
            self.watch.until(self._more_labels(UNHEARD_LABELS), UNHEARD_SECONDS)
            yield
        finally:
            store.replica.thaw()

    def _come_back(self) -> Disturbance:
        """Sentinel takes some seconds to see it, and to make it a replica; nobody waits for that here."""
        begin = time.monotonic()
        self.deployment.store.primary.start()
        self.watch.say("the old primary is back; Sentinel is to make it a replica")
        return Disturbance(Deed.COMEBACK, begin, time.monotonic())

    def _is_named(self) -> bool:
        store = self.deployment.store
        return store.known_port() == store.replica.port and store.replica.ask("ROLE")[0] == b"master"

    def _more_labels(self, count: int) -> Callable[[], bool]:
        """Whether so many more than now have been acknowledged."""
        goal = len(self.ledger.acknowledged) + count
        return lambda: len(self.ledger.acknowledged) >= goal

    def _wait(self, otherwise: str, holds: Callable[[], bool]) -> None:
        if not self.watch.until(holds, FAILOVER_SECONDS):
            raise TimeoutError(otherwise)
