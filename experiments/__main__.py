"""Run the paper's study, or a part of it, and write its page: `python -m experiments`, or `make reproduce`."""

import argparse
import sys
from pathlib import Path

from experiments.paper.plan import Plan, run_plan
from experiments.paper.protocol import FULL, QUICK
from experiments.paper.report.page import write
from experiments.tasks import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    option = parser.add_argument
    option("--quick", action="store_true", help="a trial with a little of each set, in minutes")
    option("--processes", type=int, metavar="N", help="how many run side by side; default: one for each processor")
    option("--work", type=Path, help="where sets and results are kept for the next run")
    option("--page", type=Path, help="the report; its figures go into a folder beside it")
    option("--only", default=[], type=lambda text: text.split(","), metavar="SET,...", help="some of the sets only")
    text = "a set of your own in LIBSVM form, e.g. webspam=webspam.svm.xz; it is studied like the others"
    option("--given", action="append", default=[], type=_given, metavar="NAME=TRAIN[,TEST]", help=text)
    chosen = parser.parse_args()
    work = chosen.work or ROOT / "build" / ("reproduction-quick" if chosen.quick else "reproduction")
    page = chosen.page or (work if chosen.quick else ROOT / "docs") / "reproduction.md"
    plan = Plan(QUICK if chosen.quick else FULL, work, dict(chosen.given), chosen.processes, chosen.only)
    try:
        findings = run_plan(plan)
    except KeyboardInterrupt:
        print("Stopped. The same command resumes the run.", file=sys.stderr)
        return 130
    write(findings, page)
    print(f"Wrote {page} after {findings.seconds / 60:.1f} minutes.", file=sys.stderr)
    return 0


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
