"""How many modules of ours a request passes through, and that the architecture page shows them."""

import re
from pathlib import Path

import pytest

from tests.request_path import Calls, trace_requests

ARCHITECTURE = Path(__file__).parent.parent / "docs" / "architecture.md"
MOST_MODULES = {"POST /predict": 12, "POST /feedback": 20}


@pytest.fixture(scope="module")
def paths() -> dict[str, Calls]:
    return trace_requests()


@pytest.mark.parametrize("request_line", MOST_MODULES)
def test_a_request_passes_through_few_modules(paths: dict[str, Calls], request_line: str) -> None:
    assert len(paths[request_line]) <= MOST_MODULES[request_line], sorted(paths[request_line])


@pytest.mark.parametrize("request_line", MOST_MODULES)
def test_the_architecture_page_shows_the_modules_of_a_request(paths: dict[str, Calls], request_line: str) -> None:
    section = ARCHITECTURE.read_text().partition(f"### The path of {request_line}\n")[2].partition("\n## ")[0]
    shown = re.findall(r"`(app(?:/\w+)+)\.py`", section.partition("\n### ")[0])
    assert {name.replace("/", ".") for name in shown} == set(paths[request_line])
