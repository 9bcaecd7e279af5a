"""The slow, dense twin of every algorithm, written from the paper: the kernels must agree with them.

A twin is found by its name: that of "ada-rda" is the class AdaRda in ada_rda.py.
"""

from importlib import import_module
from typing import cast

from .dense import Reference

__all__ = ["Reference", "reference_of"]


def reference_of(algorithm: str) -> type[Reference]:
    module = import_module(f"{__name__}.{algorithm.replace('-', '_')}")
    return cast("type[Reference]", getattr(module, algorithm.title().replace("-", "")))
