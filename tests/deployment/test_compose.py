import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.settings import ELSEWHERE, Settings, variables
from tests.deployment.dockerfile import ROOT, read_stages

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PORTS = {"sluice": 8000, "redis": 6379, "prometheus": 9090, "grafana": 3000}  # that each listens on in its container
MOUNTS = [
    (name, *volume.split(":")) for name, service in SERVICES.items() for volume in service.get("volumes", [])
]  # service, what, where, and perhaps how


def test_it_is_a_compose_file_by_its_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run(
        [*command, str(ROOT / "docker-compose.yml")], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_has_a_version(name: str) -> None:
    assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+\.\d+(-alpine)?", SERVICES[name]["image"])


def test_what_is_mounted_from_the_repository_exists_and_cannot_be_written_to() -> None:
    bound = [(source, how) for _, source, _, *how in MOUNTS if source.startswith(".")]
    assert len(bound) == 5
    assert [source for source, _ in bound if not (ROOT / source).exists()] == []
    assert [source for source, how in bound if how != ["ro"]] == []


def test_every_volume_is_declared_and_used() -> None:
    assert {source for _, source, *_ in MOUNTS if not source.startswith(".")} == COMPOSE["volumes"].keys()


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if "ports" in service])
def test_only_this_machine_reaches_a_port_and_the_service_listens_on_it(name: str) -> None:
    assert SERVICES[name]["ports"] == [f"127.0.0.1:{PORTS[name]}:{PORTS[name]}"]


def test_the_image_of_sluice_listens_on_the_port_that_the_others_ask() -> None:
    _, final = read_stages()
    assert int(final.one("EXPOSE").rest) == PORTS["sluice"] == Settings.from_environment({}).port


def test_every_address_of_a_service_names_one_and_its_port() -> None:
    files = [ROOT / "docker-compose.yml", *(ROOT / "monitoring").glob("**/*.yml")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files if "tests" not in file.parts)
    asked = {(name, int(port)) for name, port in re.findall(r"\b(sluice|redis|prometheus|grafana):(\d{4,5})\b", text)}
    assert {("sluice", 8000), ("redis", 6379), ("prometheus", 9090)} <= asked <= set(PORTS.items())


def test_prometheus_scrapes_the_service_and_grafana_queries_prometheus() -> None:
    targets = yaml.safe_load((ROOT / "monitoring/targets/sluice.yml").read_text(encoding="utf-8"))
    assert [target for group in targets for target in group["targets"]] == ["sluice:8000"]
    provisioning = ROOT / "monitoring/grafana/provisioning"
    (sources,) = [yaml.safe_load(file.read_text()) for file in (provisioning / "datasources").glob("*.yml")]
    assert [source["url"] for source in sources["datasources"]] == ["http://prometheus:9090"]


def test_files_are_mounted_where_they_are_read() -> None:
    where = {source: target for _, source, target, *_ in MOUNTS}
    configuration = Path(where["./monitoring/prometheus.yml"])
    for folder in ("rules", "targets"):  # named relative to the configuration
        assert Path(where[f"./monitoring/{folder}"]) == configuration.parent / folder
    provisioning = ROOT / "monitoring/grafana/provisioning"
    (provided,) = [yaml.safe_load(file.read_text()) for file in (provisioning / "dashboards").glob("*.yml")]
    assert [each["options"]["path"] for each in provided["providers"]] == [where["./monitoring/grafana/dashboards"]]
    assert where["./monitoring/grafana/provisioning"] == "/etc/grafana/provisioning"


def test_every_setting_of_sluice_is_valid() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"SLUICE_\w+", text)) <= {*variables(), *ELSEWHERE}
    given = {name: re.sub(r"\$\{\w+:-(\w+)\}", r"\1", str(value)) for name, value in environment("sluice").items()}
    settings = Settings.from_environment(given)
    assert settings.redis_url is not None
    assert settings.redis_url.get_secret_value() == f"redis://redis:{PORTS['redis']}"


def test_redis_is_durable() -> None:
    command = SERVICES["redis"]["command"]
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options == {"--appendonly": "yes", "--appendfsync": "always", "--maxmemory-policy": "noeviction"}
    assert "redis-data:/data" in SERVICES["redis"]["volumes"]


@pytest.mark.parametrize("name", ["sluice", "demo"])
def test_the_containers_of_sluice_are_confined(name: str) -> None:
    service = SERVICES[name]
    assert (service["read_only"], service["cap_drop"], service["tmpfs"]) == (True, ["ALL"], ["/tmp"])  # noqa: S108 - the container's
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_services_start_after_their_healthy_dependencies() -> None:
    assert SERVICES["sluice"]["depends_on"] == {"redis": {"condition": "service_healthy"}}
    assert SERVICES["demo"]["depends_on"] == {"sluice": {"condition": "service_healthy"}}
    assert all("healthcheck" in SERVICES[name] for name in ("redis", "sluice"))
    assert any(each.exec_form for stage in read_stages() for each in stage.all_of("HEALTHCHECK"))


def test_the_demo_runs_only_in_its_profile() -> None:
    assert SERVICES["demo"]["profiles"] == ["demo"]
    assert SERVICES["demo"]["command"] == ["demo", "--url", f"http://sluice:{PORTS['sluice']}", "--forever"]
    assert [name for name, service in SERVICES.items() if "profiles" in service] == ["demo"]


def environment(name: str) -> dict[str, Any]:
    given: dict[str, Any] = SERVICES[name]["environment"]
    return given
