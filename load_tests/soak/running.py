"""One run, from an empty folder to what was found."""

import time
from pathlib import Path

from load_tests.soak import checking
from load_tests.soak.deployment import Deployment, deployed
from load_tests.soak.disturbing import Disturbance, Disturber
from load_tests.soak.load import CLIENTS, PER_SECOND, Load
from load_tests.soak.outcome import Outcome
from load_tests.soak.plan import SERVICES, planned
from load_tests.soak.traffic import TENANTS
from load_tests.soak.watching import Say, Watch

TEACHING_SECONDS = 60.0
COMEBACK_SECONDS = 60.0


def run(folder: Path, seconds: float, say: Say) -> Outcome:
    """Start everything, load and disturb it for so long, and look what is left."""
    say(f"starting a primary, its replica, a Sentinel, and {SERVICES} services")
    with deployed(folder, seconds) as deployment, Load([node.port for node in deployment.nodes]) as load:
        watch = Watch(deployment, load, say)
        say(f"teaching {len(TENANTS)} tenants their vocabulary")
        if not watch.until(lambda: load.has_begun, TEACHING_SECONDS):
            raise TimeoutError("the tenants cannot be taught")
        began = time.monotonic()
        say(f"{CLIENTS} clients ask {PER_SECOND:g} times a second for {seconds:g} s")
        disturbances = _disturb(deployment, load, watch, seconds, began)
        return _finish(deployment, load, watch, disturbances, began)


def _disturb(deployment: Deployment, load: Load, watch: Watch, seconds: float, began: float) -> list[Disturbance]:
    disturber = Disturber(deployment, load.ledger, watch)
    disturbances = []
    for step in planned(seconds):
        watch.until_time(began + step.at_seconds)
        disturbances.append(disturber.do(step))
    watch.undisturbed()
    watch.until_time(began + seconds)
    return disturbances


def _finish(deployment: Deployment, load: Load, watch: Watch, disturbances: list[Disturbance], began: float) -> Outcome:
    watch.say("ending the load; labels that were to come later are given now")
    load.stop()
    seconds = time.monotonic() - began
    watch.say("comparing the services, a fresh one, and a replay of the logs")
    tenants = checking.found(deployment, watch)
    follows = watch.until(deployment.old_primary_follows, COMEBACK_SECONDS)
    return Outcome(
        seconds,
        began,
        load.ledger,
        disturbances,
        watch.lives,
        watch.store,
        tenants,
        follows,
        deployment.appended_again(),
        deployment.rescued(),
        deployment.tracebacks(),
    )
