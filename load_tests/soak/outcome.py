"""All that one run found."""

from dataclasses import dataclass

from load_tests.soak.checking import TenantFound
from load_tests.soak.disturbing import Disturbance
from load_tests.soak.ledger import Ledger
from load_tests.soak.memory import Life
from load_tests.soak.plan import Deed


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one run."""

    seconds: float  # that the load lasted
    began: float
    ledger: Ledger
    disturbances: list[Disturbance]
    lives: list[Life]
    store: Life
    tenants: list[TenantFound]
    old_primary_follows: bool
    appended_again: int  # events that the failover had lost
    rescued: int  # models that services had to write to files
    tracebacks: int  # in the services' logs

    def of(self, *deeds: Deed) -> list[Disturbance]:
        """The disturbances of some kinds."""
        return [each for each in self.disturbances if each.deed in deeds]
