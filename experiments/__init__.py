"""Benchmarks of kernels and of verdicts, and the paper's study; they run on the learning core, without the service."""

import os

# Before anything imports NumPy: idle threads of its linear algebra spin for a while, which would count as work.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
