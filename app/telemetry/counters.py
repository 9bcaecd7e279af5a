"""All that one worker counts."""

from app.telemetry.histogram import DURATIONS, JOURNEYS, Distribution
from app.telemetry.tenant_counters import TenantWatches

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
OTHER_METHOD = "other"  # a client may send any word
SHED_FOR = ("concurrency", "connections", "lag", "rate", "wrong_key")


class Requests:
    """Requests by route, method and status."""

    def __init__(self) -> None:
        self.in_progress = 0
        self.answered: dict[tuple[str, str, int], int] = {}
        self.durations: dict[tuple[str, str], Distribution] = {}
        self.shed = dict.fromkeys(SHED_FOR, 0)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        if method not in METHODS:
            method = OTHER_METHOD
        key = (method, route, status)
        self.answered[key] = self.answered.get(key, 0) + 1
        durations = self.durations.get((method, route))
        if durations is None:
            durations = self.durations[method, route] = Distribution(DURATIONS)
        durations.observe(seconds)


class Commands:
    """Commands to the store, and how they went."""

    def __init__(self) -> None:
        self.durations: dict[str, Distribution] = {}
        self.errors: dict[str, int] = {}

    def count(self, command: str, seconds: float, *, failed: bool) -> None:
        """A command is over."""
        durations = self.durations.get(command)
        if durations is None:
            durations = self.durations[command] = Distribution(JOURNEYS)
            self.errors[command] = 0
        durations.observe(seconds)
        self.errors[command] += failed


class Telemetry:
    """The counters of one worker; it begins with nothing counted."""

    def __init__(self, tenants: TenantWatches | None = None) -> None:
        self.tenants = tenants or TenantWatches()
        self.requests = Requests()
        self.commands = Commands()
        self.loads = 0
        self.evictions = 0
        self.repairs = 0
        self.snapshots_taken = 0
        self.snapshots_failed = 0
        self.snapshot_bytes = 0
        self.not_kept = 0
