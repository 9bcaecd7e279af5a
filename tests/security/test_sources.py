"""Sources contain no constructs that turn data into code, and no predictable temporary files."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import ROOT

SOURCES = sorted([*(ROOT / "app").rglob("*.py"), *(ROOT / "kernels").rglob("*.py")])
MODULES = {
    "pickle",
    "_pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "shelve",
    "marshal",
    "xml",
    "telnetlib",
    "cgi",
}
NAMES = {"eval", "exec", "compile", "__import__", "execfile"}
MEMBERS = {
    "yaml.load", "yaml.unsafe_load", "yaml.full_load", "tempfile.mktemp", "os.system", "os.popen", "numpy.load",
    "np.load", "os.tempnam", "os.tmpnam", "ssl._create_unverified_context", "subprocess.getoutput",
    "subprocess.getstatusoutput", "importlib.reload",
}  # fmt: skip
UNPACKING = {"extractall", "unpack_archive"}


def faults(source: str) -> list[str]:
    """Return the forbidden constructs of a module."""
    return [fault for node in ast.walk(ast.parse(source)) for fault in _faults(node)]


def _faults(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (f"import {name.name}" for name in names if name.name.split(".")[0] in MODULES)
        case ast.ImportFrom(module=str(module), names=names):
            yield from [f"from {module}"] * (module.split(".")[0] in MODULES)
            yield from (f"{module}.{name.name}" for name in names if f"{module}.{name.name}" in MEMBERS)
        case ast.Name(id=name) if name in NAMES:
            yield name
        case ast.Attribute(attr=name) if ast.unparse(node) in MEMBERS or name in UNPACKING:
            yield ast.unparse(node)
        case ast.keyword(arg="shell", value=value) if not (isinstance(value, ast.Constant) and value.value is False):
            yield f"shell={ast.unparse(value)}"
        case ast.keyword(arg="allow_pickle", value=value):
            yield f"allow_pickle={ast.unparse(value)}"
        case ast.keyword(arg="verify", value=ast.Constant(value=False)):
            yield "verify=False"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(ROOT)))
def test_no_source_turns_data_into_code(source: Path) -> None:
    assert faults(source.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "import pickle as p", "from pickle import loads", "import marshal", "from shelve import open",
        "eval('1')", "exec(x)", "f = eval", "compile(x, '', 'exec')", "__import__('os')", "import os\nos.system('x')",
        "import subprocess\nsubprocess.run('x', shell=True)", "run(x, shell=maybe)", "import yaml\nyaml.load(x)",
        "from yaml import load", "from yaml import unsafe_load", "import tempfile\ntempfile.mktemp()",
        "from tempfile import mktemp", "np.load(x)", "numpy.load(x)", "open(x, allow_pickle=True)", "tar.extractall()",
        "import xml.etree.ElementTree", "httpx.get(x, verify=False)",
    ],
)  # fmt: skip
def test_forbidden_constructs_are_found(source: str) -> None:
    assert faults(source)


@pytest.mark.parametrize(
    "source",
    [
        "yaml.safe_load(x)",
        "re.compile('x')",
        "model.eval_all()",
        "run(x, shell=False)",
        "'eval(1)'",
        "# exec",
        "json.load(x)",
    ],
)
def test_harmless_constructs_are_accepted(source: str) -> None:
    assert faults(source) == []


def test_sources_are_collected() -> None:
    assert len(SOURCES) > 100
