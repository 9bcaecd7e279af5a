"""Load on running services: measurements that take minutes."""

import os

# Before anything imports NumPy: idle threads of its linear algebra spin for a while, which would count as work.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
