"""The command: `python -m experiments`, or `make reproduce`."""

import argparse
import sys
import time
from pathlib import Path

from experiments.plan import Plan, run
from experiments.sizes import FULL, QUICK
from experiments.task import ROOT


def main() -> int:
    """Run the study, or a part of it, and write its page."""
    options = _parser().parse_args()
    sizes = QUICK if options.quick else FULL
    work = options.work or ROOT / "build" / ("reproduction-quick" if options.quick else "reproduction")
    page = options.page or (work if options.quick else ROOT / "docs") / "reproduction.md"
    start = time.monotonic()
    try:
        run(Plan(sizes, work, page, options.given, options.processes, set(options.only)))
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130
    print(f"{page} was written after {(time.monotonic() - start) / 60:.1f} minutes.", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial with a little of each set, in minutes")
    parser.add_argument(
        "--processes", type=int, default=None, metavar="N", help="side by side; all processors unless set"
    )
    parser.add_argument("--work", type=Path, default=None, help="where sets and results are kept for the next run")
    parser.add_argument("--page", type=Path, default=None, help="the report; its figures go into a folder beside it")
    parser.add_argument("--only", default=[], type=_listed, metavar="SET,...", help="some of the sets only")
    parser.add_argument(
        "--given",
        action="append",
        default=[],
        type=_given,
        metavar="NAME=TRAIN[,TEST]",
        help="a set of your own in LIBSVM form, e.g. webspam=webspam.svm.xz: it is studied like the others",
    )
    return parser


def _listed(text: str) -> list[str]:
    return text.split(",")


def _given(text: str) -> tuple[str, list[str]]:
    name, _, paths = text.partition("=")
    found = [path for path in paths.split(",") if path]
    if not name or not 1 <= len(found) <= 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=TRAIN or NAME=TRAIN,TEST")
    for path in found:
        if not Path(path).is_file():
            raise argparse.ArgumentTypeError(f"there is no file {path!r}")
    return name, found


if __name__ == "__main__":
    sys.exit(main())
