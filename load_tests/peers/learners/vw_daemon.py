"""Vowpal Wabbit's own daemon, out of the library that its Python package carries: no program comes with that.

`python -m ... --port 26542 --num_children 1 ...` does what `vw --daemon --foreground` with these options does: C++ code
reads lines from a socket and answers each with a line. The package's own `python -m vowpalwabbit` never gets so far.
"""

import sys

from vowpalwabbit import Workspace

if __name__ == "__main__":
    Workspace(arg_list=["--daemon", "--foreground", *sys.argv[1:]]).run_parser()
