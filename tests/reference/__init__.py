"""The slow, dense reference of every algorithm, written from the paper: the kernels must agree with it.

A reference is found by name: that of "cs-fsol" is the class CsFsol, in a file with the name of the kernel's file.
"""

from importlib import import_module
from typing import cast

from kernels.registry import ALGORITHMS

from .dense import Reference

__all__ = ["Reference", "reference_of"]


def reference_of(algorithm: str) -> type[Reference]:
    module = import_module(f"{__name__}.{ALGORITHMS[algorithm].split('.')[0]}")
    return cast("type[Reference]", getattr(module, algorithm.title().replace("-", "")))
