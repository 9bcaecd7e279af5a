"""Step 3: a service is added. Its share of the tenants comes to it, and it loads them when they are asked for."""

from collections import Counter
from dataclasses import dataclass

from load_tests.cluster.figures import Latency, latency, tenants_held
from load_tests.cluster.ledger import Checked
from load_tests.cluster.stage import Stage, State
from load_tests.cluster.steps.spreading import teach

ADDED = "e"


@dataclass(frozen=True, slots=True)
class Added:
    """What the newcomer took over."""

    services: int  # with it
    tenants: int
    moved: int
    moved_elsewhere: int  # between two of the others
    held: int
    first_prediction: Latency | None
    differing: int  # tenants whose digest or score is not what it was at their home before
    checked: Checked

    @property
    def share(self) -> float:
        """Of all tenants, beside the even share."""
        return self.moved * self.services / self.tenants


async def add(stage: Stage) -> Added:
    """Start a service, send it its tenants, and compare what it says with what their homes said before."""
    homes = {tenant: stage.router.home(tenant) for tenant in stage.tenants}
    await stage.start(ADDED)
    stage.router.up.add(ADDED)
    moves = Counter(stage.router.home(tenant) for tenant in stage.tenants if stage.router.home(tenant) != homes[tenant])
    mine = stage.tenants_of(ADDED)
    firsts = [await stage.predict(tenant) for tenant in mine]
    held = tenants_held(stage.services[ADDED])
    differing = await _differing(stage, mine, homes)
    for tenant in mine:
        await teach(stage, tenant)
    return Added(
        services=len(stage.router.up),
        tenants=len(stage.tenants),
        moved=moves[ADDED],
        moved_elsewhere=moves.total() - moves[ADDED],
        held=held,
        first_prediction=latency(answer.seconds for answer in firsts if answer.status == 200),
        differing=differing + sum(answer.status != 200 for answer in firsts),
        checked=await stage.checked(),
    )


async def _differing(stage: Stage, tenants: list[str], homes: dict[str, str]) -> int:
    """How many are not bit for bit what their homes of before have, which hold them still."""
    now = await stage.states(tenants)
    before: dict[str, State] = {}
    for home in set(homes.values()):
        before |= await stage.states([tenant for tenant in tenants if homes[tenant] == home], home)
    return sum(now[tenant] != before[tenant] for tenant in tenants)
