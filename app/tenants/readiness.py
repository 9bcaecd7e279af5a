"""Whether a worker is ready, part by part: the store, the tenants, the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.storage.client.durability import StoreStatus
from app.tenants.log_follower import LogFollower


@dataclass(frozen=True, slots=True)
class Part:
    """A dependency of the service, and its state."""

    ok: bool
    detail: str
    public: str | None = None  # shown without authentication, if the detail names tenants or addresses

    @property
    def public_detail(self) -> str:
        """The detail without names of tenants and addresses."""
        return self.detail if self.public is None else self.public


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether this worker is ready, part by part."""

    ready: bool
    parts: Mapping[str, Part]


def readiness(
    follower: LogFollower, store: StoreStatus, tenants: str, damaged: Sequence[str], notes: Sequence[str]
) -> Readiness:
    """Return whether a worker can serve requests; `tenants` says how many it holds."""
    # The store: whether it can be reached, its settings are safe, and it accepts writes.
    trouble = follower.trouble or store.trouble
    detail = trouble or follower.part_trouble or store.write_trouble or "in contact"
    parts = {
        "redis": Part(trouble is None, detail, store.without_address(detail)),
        "tenants": Part(
            ok=True,  # one damaged tenant must not make the service unavailable for the others
            detail=tenants + (f"; damaged: {', '.join(damaged[:10])} (check with: sluice repair)" if damaged else ""),
            public="in memory",
        ),
        "log": Part(
            ok=True,
            detail="; ".join(notes) or "in order",
            public="see the service's log" if notes else "in order",
        ),
    }
    return Readiness(all(part.ok for part in parts.values()), parts)
