"""`sluice repair` on the store of running services: they serve the repaired tenant without a restart."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.cli import main
from app.storage.embedded.append_only_file import increments
from app.storage.redis_keys import AUDIT, keys_of
from app.tenants.damage.repair import read_copy
from tests.reliability.deployments import SERVER, Deployment, deployment
from tests.reliability.oracle import check, client_of, stored_log, wait_until_applied
from tests.reliability.traffic import Feeder, feed, feedback
from tests.services import Service, wait_until
from tests.tenants.damages import entries, rewrite

pytestmark = pytest.mark.timeout(90)

Sluice = Callable[..., int]


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    little = {"snapshots_kept": 1, "log_retention_events": 0}
    with deployment(SERVER, tmp_path_factory.mktemp("repair"), number=2, **little) as made:
        yield made


@pytest.fixture
def sluice(deployed: Deployment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sluice:
    """Return the command line on the store of the services."""
    monkeypatch.setenv("SLUICE_REDIS_URL", deployed.url)
    monkeypatch.setenv("SLUICE_DATA_DIR", str(tmp_path))
    return lambda *arguments: main(arguments)


def give(service: Service, tenant: str, numbers: range) -> None:
    items = [{**feedback(k), "feedback_id": f"f-{k}", "moderator": "mona"} for k in numbers]
    service.post("/feedback/batch", {"tenant": tenant, "items": items}).raise_for_status()


def flip(deployed: Deployment, tenant: str, field: bytes, index: int) -> int:
    """Change a byte of an entry: of a chain, or of the features of a label. Return its version."""
    found = entries(deployed.server, tenant)
    name, fields = found[index]
    data = fields[field]
    found[index] = (name, fields | {field: data[:30] + bytes([data[30] ^ 1]) + data[31:]})
    rewrite(deployed.server, tenant, found)
    return int(name[2:])


def forget(service: Service) -> None:
    """Let a service forget what it has in memory."""
    service.kill()
    service.start()


def test_a_tenant_with_a_changed_label_is_served_again_without_a_restart(
    deployed: Deployment, sluice: Sluice, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service, other = deployed.services
    give(service, "acme", range(30))
    service.post("/tenants/acme/snapshot", None).raise_for_status()
    give(service, "acme", range(30, 60))
    for each in deployed.services:
        forget(each)
    lost = flip(deployed, "acme", b"p", 11)
    refused = service.predict("acme", features={"word:1": 1})
    assert refused.status_code == 503
    assert refused.json()["type"] == "/problems/tenant-damaged"
    assert "sluice repair acme" in refused.json()["detail"]
    assert "damaged: acme (check with: sluice repair)" in service.readiness()["tenants"]["detail"]

    assert sluice("repair", "--json") == 1
    (damaged,) = json.loads(capsys.readouterr().out)["damaged"]
    assert [(each["version"], each["reason"]) for each in damaged["lost"]] == [(lost, "its payload was changed")]
    assert sluice("repair", "acme") == 1
    assert "nothing was changed; repair it with: sluice repair acme --apply" in capsys.readouterr().out
    assert sluice("repair", "acme", "--apply") == 0
    assert "repaired: the tenant is at version 60 (it was at 61)" in capsys.readouterr().out
    wait_until(lambda: "damaged" not in service.readiness()["tenants"]["detail"], "it is still reported as damaged")
    assert sluice("repair", "acme") == 0
    check(deployed.services, "acme")
    assert service.tenant("acme")["version"] == 60

    (copy,) = (tmp_path / "rescued").glob("acme-*.damaged")
    assert len(read_copy(copy).log) == 30
    assert sluice("audit", "--tenant", "acme", "--json") == 0
    assert f"1 lost (versions {lost})" in capsys.readouterr().out
    again = [
        other.feedback("acme", **feedback(k), feedback_id=f"f-{k}").json() for k in (lost - 2, lost)
    ]  # after the settings
    assert [each["duplicate"] for each in again] == [False, True]  # the lost label can be given again
    check(deployed.services, "acme")


def test_the_audit_shows_entries_that_cannot_be_read(
    deployed: Deployment, sluice: Sluice, capsys: pytest.CaptureFixture[str]
) -> None:
    give(deployed.services[0], "unreadable", range(3))
    found = entries(deployed.server, "unreadable")
    name, fields = found[1]
    found[1] = (name, fields | {b"p": b"\xc1"})
    rewrite(deployed.server, "unreadable", found)
    deployed.server.client().xadd(AUDIT, {"e": b"{"})
    assert sluice("audit", "--tenant", "unreadable") == 0
    shown = capsys.readouterr().out
    assert "damaged unreadable version 2 cannot be read; check with: sluice repair unreadable" in shown
    assert shown.count(" label unreadable version ") == 2
    assert sluice("audit") == 0
    assert "damaged an entry of the audit cannot be read" in capsys.readouterr().out


@pytest.mark.e2e
def test_a_changed_chain_loses_nothing(deployed: Deployment, sluice: Sluice) -> None:
    service, _ = deployed.services
    give(service, "chained", range(40))
    digest = service.digest("chained")
    for each in deployed.services:
        forget(each)
    flip(deployed, "chained", b"c", 20)
    assert service.status("/tenants/chained") == 503
    assert sluice("repair", "chained", "--apply") == 0
    wait_until(lambda: service.status("/tenants/chained") == 200, "it is not served again")
    assert service.digest("chained") == digest
    check(deployed.services, "chained")


@pytest.mark.e2e
def test_a_snapshot_of_a_service_that_has_the_tenant_in_memory_saves_everything(
    deployed: Deployment, sluice: Sluice, capsys: pytest.CaptureFixture[str]
) -> None:
    service, _ = deployed.services
    give(service, "held", range(40))
    digest = service.digest("held")
    flip(deployed, "held", b"p", 20)
    assert sluice("repair", "held") == 1
    assert "try POST /tenants/held/snapshot first" in capsys.readouterr().out
    service.post("/tenants/held/snapshot", None).raise_for_status()
    assert sluice("repair", "held", "--apply") == 0
    forget(service)
    assert service.digest("held") == digest


@pytest.mark.e2e
def test_no_label_that_is_acknowledged_during_a_repair_is_lost(deployed: Deployment, sluice: Sluice) -> None:
    """The services have the tenant in memory, and continue to append behind the damage."""
    earlier = feed(deployed.services, "busy", 300, prefix="earlier")
    flip(deployed, "busy", b"c", 100)
    with Feeder(deployed.services, "busy", retry=True) as feeder:
        feeder.wait_for(50)
        assert sluice("repair", "busy", "--apply") == 0
        feeder.wait_for(100)
    wait_until_applied(deployed.services, "busy")
    log = stored_log(deployed.url, "busy")
    log.check_order()
    assert max(log.feedback_ids.values()) == 1
    assert earlier.acknowledged.keys() | feeder.acknowledged.keys() <= log.feedback_ids.keys()
    check(deployed.services, "busy")


@pytest.mark.e2e
def test_a_tenant_without_a_sound_state_is_repaired_only_if_the_loss_is_accepted(
    deployed: Deployment, sluice: Sluice, capsys: pytest.CaptureFixture[str]
) -> None:
    service, _ = deployed.services
    give(service, "cut", range(30))
    service.post("/tenants/cut/snapshot", None).raise_for_status()
    give(service, "cut", range(30, 50))
    with client_of(deployed.url) as client:
        client.delete(keys_of("cut").chunks)
    forget(service)
    assert service.status("/tenants/cut") == 503
    assert sluice("repair", "cut", "--apply") == 1
    assert "everything before version 32 would be lost" in capsys.readouterr().err
    assert service.status("/tenants/cut") == 503
    assert sluice("repair", "cut", "--apply", "--accept-loss") == 0
    wait_until(lambda: service.status("/tenants/cut") == 200, "it is not served again")
    assert service.tenant("cut")["version"] == 20


@pytest.mark.e2e
def test_nothing_is_changed_if_the_copy_cannot_be_written(deployed: Deployment, sluice: Sluice) -> None:
    service, _ = deployed.services
    give(service, "full", range(10))
    flip(deployed, "full", b"p", 5)
    before = stored_log(deployed.url, "full")
    assert sluice("repair", "full", "--apply", "--copy", "/proc/no/copy") == 1
    assert stored_log(deployed.url, "full") == before


@pytest.mark.e2e
def test_a_service_announces_what_its_append_only_file_has_lost(tmp_path: Path) -> None:
    with Service(tmp_path).start() as service:
        give(service, "acme", range(20))
        service.terminate()
        (path,) = increments(service.data_dir / "valkey")
        data = path.read_bytes()
        path.write_bytes(data[: data.rindex(b"*1\r\n$5\r\nMULTI", 0, len(data) // 2) + 30])
        service.start()
        note = service.readiness()["log"]["detail"]
        assert "has lost its last" in note
        assert "were cut off, and are in" in note
        assert '"level":"error"' in service.log()
        assert service.is_ready()
