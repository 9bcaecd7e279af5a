import re
import tomllib

import pytest

from app.settings import Settings, variables
from tests.deployment.dockerfile import ROOT, context_files, read_stages

BUILDER, FINAL = read_stages()
FINAL_ENVIRONMENT = FINAL.environment({"PATH": "/usr/bin"})


def test_both_stages_have_the_same_supported_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert BUILDER.image == FINAL.image
    assert FINAL.image.startswith(f"python:{project['requires-python'].removeprefix('>=')}-slim")
    assert f'version="{project["version"]}"' in FINAL.one("LABEL").rest


def test_every_setting_that_the_image_makes_exists_and_is_right() -> None:
    ours = {name: value for name, value in FINAL_ENVIRONMENT.items() if name.startswith("SLUICE_")}
    assert ours.keys() <= set(variables())
    settings = Settings.from_environment(ours)
    assert (settings.host, str(settings.port), str(settings.data_dir)) == ("0.0.0.0", FINAL.one("EXPOSE").rest, "/data")  # noqa: S104 - a container's port is published by choice


@pytest.mark.parametrize("name", ["NUMBA_CPU_NAME", "NUMBA_CACHE_DIR"])
def test_kernels_are_looked_for_where_and_as_they_were_compiled(name: str) -> None:
    assert FINAL_ENVIRONMENT[name] == BUILDER.environment({})[name]


def test_compiled_kernels_are_copied_into_the_image() -> None:
    (copied,) = [each.words for each in FINAL.all_of("COPY")]
    assert copied == ["--from=builder", "/opt/sluice", "/opt/sluice"]
    assert FINAL_ENVIRONMENT["NUMBA_CACHE_DIR"].startswith("/opt/sluice/")


def test_the_image_does_not_run_as_root_and_signals_reach_the_service() -> None:
    assert FINAL.one("USER").rest == "10001:10001"
    assert FINAL.one("STOPSIGNAL").rest == "SIGTERM"
    assert FINAL.one("ENTRYPOINT").exec_form + FINAL.one("CMD").exec_form == ["sluice", "serve"]


def test_everything_that_is_installed_from_elsewhere_has_a_hash_and_no_address() -> None:
    for run in BUILDER.all_of("RUN"):
        if " install " in run.rest:
            assert "--require-hashes" in run.rest or "--no-index" in run.rest, run.rest
    assert not re.search(r"https?://(?!127\.0\.0\.1)|--index-url|--find-links", (ROOT / "Dockerfile").read_text())


def test_all_dependencies_of_hatchling_come_from_the_developers_lock() -> None:
    (pattern,) = [found for run in BUILDER.all_of("RUN") for found in re.findall(r"/\^\(([\w|-]+)\)==/", run.rest)]
    lock = (ROOT / ".ci" / "requirements-dev.txt").read_text(encoding="utf-8")
    entries = re.findall(r"^([\w.-]+)==.*\n((?:    .*\n)*)", lock, re.MULTILINE)
    needed = [name for name, rest in entries if re.search(r"#.* hatchling$", rest, re.MULTILINE)]
    assert pattern.split("|") == ["hatchling", *needed]


def test_the_builder_gets_only_the_copied_files() -> None:
    sources = [word for each in BUILDER.all_of("COPY") for word in each.words[:-1]]
    sent = [path.as_posix() for path in context_files()]
    assert all(any(path == source or path.startswith(f"{source}/") for source in sources) for path in sent)
    assert all(any(path == source or path.startswith(f"{source}/") for path in sent) for source in sources)
    assert not [path for path in sent if "__pycache__" in path]
    assert "app/storage/lua/append.lua" in sent
