"""A review queue in memory, without a store."""

from collections.abc import Callable

from app.review.errors import LeaseLost
from app.review.overview import OverviewPage, TenantLine
from app.review.people import SecondOpinion
from app.review.queue import Leases, Reviewer
from app.review.second import SecondLease
from app.storage.review.opinions import Answer, Said
from app.storage.review.queue import Action, QueueChanges, QueueCounts, QueuedItem
from app.tenants.tenant import Tenant
from tests.api.fakes import FakeTenants


class FakeOverview:
    """Tenants by name, without figures."""

    def __init__(self, tenants: FakeTenants) -> None:
        self._tenants = tenants

    async def page(self, covers: Callable[[str], bool], search: str, offset: int, limit: int) -> OverviewPage:
        found = [TenantLine(name) for name in sorted(self._tenants.tenants) if search in name and covers(name)]
        return OverviewPage(found[offset : offset + limit], len(found), 0)


class FakeReview:
    """A queue that is given by the test: its items are leased to whoever asks first, for ever."""

    def __init__(self) -> None:
        self.waiting: list[QueuedItem] = []
        self.holders: dict[str, tuple[Reviewer, str]] = {}
        self.ended: list[tuple[str, Reviewer, str, str]] = []  # tenant, who, action, prediction_id
        self.asked: list[tuple[Reviewer, int, int | None]] = []

    async def lease(self, tenant: Tenant, reviewer: Reviewer, limit: int, seconds: int | None) -> Leases:
        del tenant
        self.asked.append((reviewer, limit, seconds))
        items, self.waiting = self.waiting[:limit], self.waiting[limit:]
        lease = f"lease-{len(self.asked)}"
        self.holders |= {each.prediction_id: (reviewer, lease) for each in items}
        return Leases(lease, 1_800_000_000_000, len(self.waiting), len(self.holders), items)

    async def end_lease(
        self,
        tenant: str,
        reviewer: Reviewer,
        action: Action,
        prediction_id: str,
        lease: str | None = None,
        seconds: int | None = None,
    ) -> tuple[QueueChanges, int | None]:
        holder = self.holders.get(prediction_id)
        if holder is None or (holder[0] != reviewer if lease is None else holder[1] != lease):
            raise LeaseLost(prediction_id, "gone" if holder is None else "leased")
        self.ended.append((tenant, reviewer, action, prediction_id))
        until = 1_800_000_000_000 + 1000 * (seconds or 300) if action == "renew" else None
        return QueueChanges(len(self.waiting), len(self.holders)), until

    async def status(self, tenant: str) -> QueueCounts | None:
        del tenant
        return QueueCounts(QueueChanges(len(self.waiting), len(self.holders)), 1.5, {"random": len(self.waiting)})


class FakeSecondReviews:
    """Second reviews that are given by the test."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.answers: list[tuple[str, Reviewer, str, Answer, Said]] = []
        self.given: list[SecondOpinion] = []

    async def lease(self, tenant: Tenant, reviewer: Reviewer, limit: int) -> SecondLease:
        del tenant, reviewer
        return SecondLease(1_800_000_000_000, len(self.waiting), self.waiting[:limit])

    async def answer(self, tenant: str, reviewer: Reviewer, prediction_id: str, action: Answer, said: Said) -> None:
        if prediction_id not in self.waiting:
            raise LeaseLost(prediction_id, "gone")
        self.answers.append((tenant, reviewer, prediction_id, action, said))

    async def opinions(self, tenant: str) -> list[SecondOpinion]:
        del tenant
        return self.given
