"""What import-linter cannot say: which outside modules a layer may use, and that the learning core is pure."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OUTSIDE_OF_KERNELS = {"llvmlite", "numba", "numpy"}
IMPURE_MODULES = {
    "asyncio", "datetime", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil", "signal",
    "socket", "subprocess", "sys", "tempfile", "threading", "time", "uuid", "warnings",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "breakpoint"}


def test_kernels_use_only_numpy_and_numba() -> None:
    imported = {name for tree in trees("kernels") for name in imported_packages(tree)}
    assert imported - sys.stdlib_module_names - {"kernels"} <= OUTSIDE_OF_KERNELS


def test_the_learning_core_is_pure() -> None:
    assert [found for tree in trees("app/learning") for found in impurities(tree)] == []


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import os.path",
        "from datetime import datetime",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.default_rng()",
        "print('learned')",
        "def learn():\n    with open('weights'): pass",
        "async def learn(): ...",
    ],
)
def test_an_impure_line_is_noticed(source: str) -> None:
    assert list(impurities(ast.parse(source)))


def test_a_pure_line_is_not_called_impure() -> None:
    assert not list(impurities(ast.parse("import numpy as np\ndef learn(time): return np.exp(time)")))


def trees(folder: str) -> Iterator[ast.AST]:
    sources = sorted((ROOT / folder).rglob("*.py"))
    assert sources, f"{folder} has no Python files"
    return (ast.parse(source.read_text(encoding="utf-8"), source) for source in sources)


def imported_modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from (f"{module}.{alias.name}" for alias in names)


def imported_packages(tree: ast.AST) -> set[str]:
    return {module.partition(".")[0] for module in imported_modules(tree)}


def impurities(tree: ast.AST) -> Iterator[str]:
    yield from imported_packages(tree) & IMPURE_MODULES
    yield from (module for module in imported_modules(tree) if module.startswith("numpy.random"))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
                yield f"{name}()"
            case ast.Attribute(attr="random"):
                yield ast.unparse(node)
            case ast.AsyncFunctionDef(name=name):
                yield f"async def {name}"
