"""Benchmarks of the service that take minutes, and the harness that they share."""

import os

# Before the first import of NumPy: idle threads of its linear algebra spin for a while, which would count as work.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
