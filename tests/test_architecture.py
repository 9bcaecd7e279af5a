"""docs/architecture.md names every folder and every module of app and kernels."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text()
MODULES = sorted(
    path.relative_to(ROOT).as_posix()
    for top in ("app", "kernels")
    for path in (ROOT / top).rglob("*.py")
    if path.name != "__init__.py"
)
FOLDERS = sorted({module.rpartition("/")[0] for module in MODULES})
GLOSSARY_LIMIT = 20
FOLDER_LIMIT = 14


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_has_a_heading_and_lists_its_modules_with_their_jobs(folder: str) -> None:
    listed = dict(re.findall(r"^- `(\w+)\.py`: (.+)", _section(folder), re.MULTILINE))
    there = {Path(module).stem for module in MODULES if module.rpartition("/")[0] == folder}
    assert listed.keys() == there


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_is_small_enough_to_be_seen_at_a_glance(folder: str) -> None:
    assert sum(module.rpartition("/")[0] == folder for module in MODULES) <= FOLDER_LIMIT


def test_no_module_is_named_by_a_gerund() -> None:
    assert [module for module in MODULES if module.endswith("ing.py") and not module.endswith("/keyring.py")] == []


def test_no_class_is_named_by_a_gerund() -> None:
    nouns = "(?<!Setting)(?<!Reading)(?<!Keyring)"
    classes = re.compile(rf"^class (\w*ing){nouns}\b", re.MULTILINE)
    assert [found for module in MODULES for found in classes.findall((ROOT / module).read_text())] == []


def test_the_glossary_is_short() -> None:
    terms = re.findall(r"^- \*\*(.+?)\*\*: ", PAGE.partition("\n## Glossary\n")[2].partition("\n## ")[0], re.MULTILINE)
    assert 0 < len(terms) <= GLOSSARY_LIMIT


def test_every_path_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:app|kernels|tests|docs|monitoring|load_tests|experiments)/[\w./-]*)`", PAGE))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def _section(folder: str) -> str:
    return PAGE.partition(f"\n### `{folder}/`")[2].partition("\n### ")[0].partition("\n## ")[0]
