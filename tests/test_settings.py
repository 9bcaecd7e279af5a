import os
import re
from pathlib import Path

import pytest

from app.learning.errors import BadSetting
from app.settings import Settings, memory_budget, memory_limit, parse_size, rule, variable, variables

PAGE = (Path(__file__).parent.parent / "docs" / "settings.md").read_text(encoding="utf-8")
DOCUMENTED = {
    row[0]: row[1:] for row in re.findall(r"^\| `(SLUICE_\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
}
NAMES = list(Settings.model_fields)
COMPUTED = ("memory_budget_bytes", "max_concurrent_per_key")
ABSENT = {  # no default to write
    "redis_url": None, "auth": None, "metrics_tenant_names": (), "traces_url": None, "trusted_proxies": (),
}  # fmt: skip


def read(**given: str) -> Settings:
    return Settings.from_environment({f"SLUICE_{name}": value for name, value in given.items()})


def test_without_variables_the_defaults_hold() -> None:
    settings = read()
    assert (settings.host, settings.port, settings.workers, settings.redis_url) == ("127.0.0.1", 8000, 1, None)
    assert settings.data_dir == Path("data")


def test_other_variables_are_ignored() -> None:
    assert Settings.from_environment({"PATH": "/bin", "SLUICE_DATA": "/data"}) == read()


def test_an_empty_variable_counts_as_not_set() -> None:
    assert read(PORT="", REDIS_URL="") == read()


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read().port = 1


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("PORT", "99999", "SLUICE_PORT is '99999', but must be a whole number from 0 to 65,535"),
        ("PORT", "http", "SLUICE_PORT is 'http', but must be a whole number from 0 to 65,535"),
        ("WORKERS", "0", "SLUICE_WORKERS is '0', but must be a whole number from 1 to 256"),
        ("HOST", "a b", "SLUICE_HOST is 'a b', but must be a host name or an address"),
        ("AUTO_CREATE_TENANTS", "maybe", "SLUICE_AUTO_CREATE_TENANTS is 'maybe', but must be true or false"),
        ("SHUTDOWN_SECONDS", "nan", "SLUICE_SHUTDOWN_SECONDS is 'nan', but must be a number from 0 to 3,600"),
        ("HEAD_SECONDS", "0", "SLUICE_HEAD_SECONDS is '0', but must be a number from 0.1 to 3,600"),
        ("LOG_FORMAT", "xml", "SLUICE_LOG_FORMAT is 'xml', but must be auto, json or text"),
        (
            "TRUSTED_PROXIES",
            "10.0.0.1, *",
            "SLUICE_TRUSTED_PROXIES is '10.0.0.1, *', but must be addresses or networks, separated by commas",
        ),
        ("TRACES_URL", "ftp://x", "SLUICE_TRACES_URL is 'ftp://x', but must be an http:// or https:// URL"),
        (
            "METRICS_TENANT_NAMES",
            "acme, a b",
            "SLUICE_METRICS_TENANT_NAMES is 'acme, a b', but must be tenant names, separated by commas",
        ),
        ("LOG_LEVEL", "loud", "SLUICE_LOG_LEVEL is 'loud', but must be debug, info, warning, error or critical"),
        (
            "MAX_BODY_BYTES",
            "8 apples",
            "SLUICE_MAX_BODY_BYTES is '8 apples', but must be a number of bytes, such as 512MiB, from 1KiB to 1GiB",
        ),
        (
            "MEMORY_BUDGET_BYTES",
            "1KiB",
            "SLUICE_MEMORY_BUDGET_BYTES is '1KiB', but must be a number of bytes, such as 512MiB, of at least 16MiB",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_a_sentence(name: str, value: str, sentence: str) -> None:
    with pytest.raises(BadSetting, match=f"^{re.escape(sentence)}$"):
        read(**{name: value})


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("PROT", "SLUICE_PROT is not a setting; did you mean SLUICE_PORT?"),
        ("REDIS_URI", "SLUICE_REDIS_URI is not a setting; did you mean SLUICE_REDIS_URL?"),
        ("XYZZY", "SLUICE_XYZZY is not a setting; docs/settings.md lists all settings"),
    ],
)
def test_an_unknown_variable_is_refused_without_its_value(name: str, sentence: str) -> None:
    with pytest.raises(BadSetting, match=f"^{re.escape(sentence)}$"):
        read(**{name: "secret"})


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("512MiB", 512 * 2**20),
        ("2GiB", 2 * 2**30),
        ("1.5GB", 1_500_000_000),
        ("64 kib", 65_536),
        ("10kB", 10_000),
        ("7", 7),
        ("7B", 7),
        ("1TiB", 2**40),
    ],
)
def test_a_size_may_have_a_unit(written: str, size: int) -> None:
    assert parse_size(written) == size


@pytest.mark.parametrize("written", ["1.5", "-1MiB", "MiB", "1e3", "1 potato", "", "\uff11MiB", "inf"])
def test_a_malformed_size_is_refused(written: str) -> None:
    assert parse_size(written) == written


@pytest.mark.parametrize(("written", "value"), [("true", True), ("FALSE", False), ("1", True), ("off", False)])
def test_a_flag_has_several_spellings(written: str, value: bool) -> None:
    assert read(AUTO_CREATE_TENANTS=written).auto_create_tenants is value


def test_a_level_may_be_written_in_capitals() -> None:
    assert read(LOG_LEVEL="DEBUG").log_level == "debug"


def test_names_are_separated_by_commas() -> None:
    assert read(METRICS_TENANT_NAMES="acme, globex,").metrics_tenant_names == ("acme", "globex")


@pytest.mark.parametrize(("name", "value"), ABSENT.items())
def test_the_documentation_names_settings_without_a_default(name: str, value: object) -> None:
    assert DOCUMENTED[variable(name)][0] == "none"
    assert getattr(read(), name) == value


def test_a_secret_is_not_printed() -> None:
    settings = read(REDIS_URL="redis://:hunter2@localhost")
    assert "hunter2" not in repr(settings) + str(settings) + settings.model_dump_json()
    assert settings.redis_url is not None
    assert settings.redis_url.get_secret_value() == "redis://:hunter2@localhost"


def test_a_secret_can_be_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("redis://:hunter2@localhost\n")
    settings = read(REDIS_URL_FILE=str(file))
    assert settings.redis_url is not None
    assert settings.redis_url.get_secret_value() == "redis://:hunter2@localhost"


def test_a_secret_and_its_file_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"^SLUICE_REDIS_URL and SLUICE_REDIS_URL_FILE are both set; set one of them$"):
        read(REDIS_URL="redis://:hunter2@localhost", REDIS_URL_FILE=str(tmp_path / "url"))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"SLUICE_REDIS_URL_FILE names '.*none', which cannot be read: No such file"):
        read(REDIS_URL_FILE=str(tmp_path / "none"))


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("\n")
    with pytest.raises(BadSetting, match=r"SLUICE_REDIS_URL_FILE names '.*url', which is empty"):
        read(REDIS_URL_FILE=str(tmp_path / "url"))


def test_the_workers_share_the_memory() -> None:
    assert read(WORKERS="2").memory_budget_bytes == memory_budget(2)
    assert memory_budget(2) == pytest.approx(memory_budget(1) / 2, abs=1)
    assert memory_budget(1) == pytest.approx(memory_limit() * 0.6, abs=1)


def test_a_key_has_a_quarter_of_the_concurrent_requests() -> None:
    assert read().max_concurrent_per_key == read().max_concurrent_requests // 4
    assert read(MAX_CONCURRENT_REQUESTS="2").max_concurrent_per_key == 1


def test_an_explicit_budget_is_used_unchanged() -> None:
    assert read(WORKERS="4", MEMORY_BUDGET_BYTES="1GiB").memory_budget_bytes == 2**30


@pytest.mark.parametrize(
    ("membership", "file"),
    [
        ("0::/a/b\n", "sys/fs/cgroup/a/memory.max"),
        ("0::/\n", "sys/fs/cgroup/memory.max"),
        ("0::/of/the/host\n", "sys/fs/cgroup/memory.max"),
        ("3:cpu:/x\n4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes"),
    ],
)
def test_the_limit_of_a_control_group_counts(tmp_path: Path, membership: str, file: str) -> None:
    for path, content in (("proc/self/cgroup", membership), (file, "100000000\n")):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    assert memory_limit(tmp_path) == 100_000_000


def test_without_control_groups_the_machine_is_the_limit(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert memory_limit(tmp_path) == memory_limit(tmp_path / "nothing") == machine


def test_the_documentation_lists_exactly_the_settings_that_exist() -> None:
    assert sorted(DOCUMENTED) == sorted(variables())


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_states_the_valid_values_of_a_setting(name: str) -> None:
    assert DOCUMENTED[variable(name)][1] == rule(name)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in {*COMPUTED, *ABSENT}])
def test_the_documentation_names_the_default(name: str) -> None:
    written = DOCUMENTED[variable(name)][0].strip("`")
    assert getattr(read(**{name.upper(): written}), name) == getattr(read(), name)
