"""Looking at everything while it runs: memory is sampled, progress is told, and waiting is never blind."""

import time
from collections.abc import Callable

from load_tests.harness.processes import resident_bytes
from load_tests.soak.deployment import Deployment, Node
from load_tests.soak.load import Load
from load_tests.soak.memory import Life, Sample

LOOK_SECONDS = 1.0
TELL_SECONDS = 10.0
PAUSE_SECONDS = 0.05

Say = Callable[[str], None]


class Watch:
    """Of one run, in the main thread: whoever waits, waits here."""

    def __init__(self, deployment: Deployment, load: Load, say: Say) -> None:
        self.say = say
        self.lives: list[Life] = []
        self.store = Life("store", time.monotonic())
        self._deployment = deployment
        self._load = load
        self._living: dict[str, Life] = {}
        self._look_at = self._tell_at = time.monotonic()
        self._told = (self._tell_at, 0)  # when, and how many requests there had been
        for node in deployment.nodes:
            self.begins(node)

    def begins(self, node: Node) -> None:
        """A service is ready; its life begins."""
        life = Life(node.name, time.monotonic())
        self._living[node.name] = life
        self.lives.append(life)

    def ends(self, node: Node) -> None:
        """A service is about to be stopped."""
        del self._living[node.name]

    def undisturbed(self) -> None:
        """From here on the store is judged: nobody makes it copy its data any more."""
        self.store = Life("store", time.monotonic())

    def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds; False if it does not within this time."""
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                return False
            self._look()
            time.sleep(PAUSE_SECONDS)
        return True

    def until_time(self, moment: float) -> None:
        """Wait."""
        self.until(lambda: time.monotonic() >= moment, max(moment - time.monotonic(), 0.0) + 1.0)

    def _look(self) -> None:
        self._load.check()
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            self._sample(now)
        if now >= self._tell_at:
            self._tell_at = now + TELL_SECONDS
            self._tell(now)

    def _sample(self, now: float) -> None:
        labels = len(self._load.ledger.acknowledged)
        for node in self._deployment.nodes:
            if (life := self._living.get(node.name)) is not None:
                node.check_alive()
                life.samples.append(Sample(now, resident_bytes(node.pid), labels))
        if (used := self._deployment.store_bytes()) is not None:
            self.store.samples.append(Sample(now, used, labels))

    def _tell(self, now: float) -> None:
        ledger, (then, before) = self._load.ledger, self._told
        self._told = (now, ledger.requests)
        rate = (ledger.requests - before) / max(now - then, 1e-3)
        memory = ", ".join(_mebibytes(self._living.get(node.name)) for node in self._deployment.nodes)
        self.say(
            f"{rate:.0f} requests/s; {len(ledger.acknowledged):,} labels acknowledged; passed on to another service: "
            f"{sum(ledger.passed_on.values()):,}; MiB: {memory}, store {_mebibytes(self.store)}"
        )


def _mebibytes(life: Life | None) -> str:
    return f"{life.samples[-1].bytes / 2**20:.0f}" if life and life.samples else "-"
