"""Measurements that take minutes: the kernels beside other libraries and beside what the memory allows."""

import os

# Before anything imports NumPy: idle threads of its linear algebra spin for a while, which would count as work.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
