"""Measure Sluice beside its peers; print the tables, write them into docs/performance.md.

Ends with 1 if Sluice is not first in something where the same work is compared.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

import msgspec

from load_tests.harness.report import exit_code, targets_table, write_section
from load_tests.peers import examples
from load_tests.peers.measuring import measure
from load_tests.peers.page import peers_section
from load_tests.peers.results import targets
from load_tests.peers.sizes import QUICK, WHOLE
from load_tests.peers.telling import say

FIGURES = Path(__file__).parents[2] / "build" / "peers.json"
INTERRUPTED = 130


def main() -> None:
    parser = argparse.ArgumentParser(prog="load_tests.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial of two minutes, which writes nothing")
    quick: bool = parser.parse_args().quick
    if missing := examples.absent():
        sys.exit(f"{missing[0]} is absent; SLUICE_DATA names the folder of the corpora")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have told it to ignore a Ctrl-C
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("ended by a signal"))  # every process that was started ends, too
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-peers-", ignore_cleanup_errors=True) as folder:
            results = measure(Path(folder), QUICK if quick else WHOLE)
    except KeyboardInterrupt:
        say("interrupted: everything that was started has ended")
        sys.exit(INTERRUPTED)
    section, found = peers_section(results), targets(results)
    print(f"\n{section}")
    if not quick:
        write_section("peers", section)
        FIGURES.parent.mkdir(exist_ok=True)
        FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")
        say("wrote its section of docs/performance.md, and all figures to build/peers.json")
    print(f"\n{targets_table(found)}")
    sys.exit(exit_code(found))


if __name__ == "__main__":
    main()
