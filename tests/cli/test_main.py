"""The entry point: help, version, and what starting a command imports."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from app.cli import COMMANDS, main

Output = pytest.CaptureFixture[str]


def test_the_version_is_that_of_the_package(capsys: Output) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"sluice {version('sluice')}\n"


def test_the_help_names_every_command(capsys: Output) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(f"    {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_text(capsys: Output, name: str) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    text = capsys.readouterr().out
    assert text.startswith(f"usage: sluice {name} ")


def test_an_unknown_command_is_refused_with_the_known_ones(capsys: Output) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["learn"])
    assert "invalid choice: 'learn'" in capsys.readouterr().err


def test_the_help_imports_nothing_slow() -> None:
    code = (
        "import sys; from app.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert not {"fastapi", "httpx", "numba", "numpy", "pydantic", "redis", "rich"} & set(
        printed.splitlines()[-1].split()
    )
