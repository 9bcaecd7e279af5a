"""The store loses data while services run: they repair it as docs/operations.md promises."""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.deployments import SERVER, Deployment, deployment
from tests.reliability.oracle import check, check_once, client_of, version_of, wait_for_labels
from tests.reliability.traffic import Feeder, feed
from tests.servers import DURABLE, Server
from tests.services import Service, wait_until

pytestmark = pytest.mark.timeout(60)
numbers = count()

SOME = 60
BINARY = {"content-type": "application/octet-stream"}


@pytest.fixture(scope="module", params=[SERVER])
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Shared by the tests: a loss affects all tenants, and each test checks its own."""
    with deployment(request.param, tmp_path_factory.mktemp("losses"), number=2) as made:
        yield made


@pytest.fixture
def tenant() -> str:
    return f"tenant-{next(numbers)}"


def test_an_emptied_embedded_store_is_refilled_by_the_services(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, number=2) as deployed:
        check_emptied(deployed, "acme")


def test_an_emptied_store_is_refilled_by_the_services(deployed: Deployment, tenant: str) -> None:
    check_emptied(deployed, tenant)


def check_emptied(deployed: Deployment, tenant: str) -> None:
    feed(deployed.services, tenant, SOME)
    feed(deployed.services, "other", 10, prefix=tenant)
    stood = settled(deployed.services, tenant)
    empty(deployed)
    wait_until(lambda: all(version_of(deployed.url, name) for name in (tenant, "other")), "no tenant is put back")
    assert settled(deployed.services, tenant) == stood
    message = f"the store had lost tenant {tenant}; it was put back at version {stood['version']}"
    assert any(message in service.readiness()["log"]["detail"] for service in deployed.services)
    assert any(message in service.log() for service in deployed.services)
    check(deployed.services, tenant, feed(deployed.services, tenant, SOME, prefix="after"))
    assert deployed.services[0].tenant(tenant)["version"] >= stood["version"] + SOME
    assert deployed.rescued(tenant) == []


def test_a_store_that_is_emptied_under_feedback_keeps_every_label(deployed: Deployment, tenant: str) -> None:
    with Feeder(deployed.services, tenant, retry=True) as feeder:
        feeder.wait_for(SOME)
        empty(deployed)
        feeder.wait_for(SOME)
    wait_for_labels(deployed.url, tenant, feeder)
    check_once(check(deployed.services, tenant))
    assert deployed.services[0].tenant(tenant)["counts"]["examples"] == len(feeder.acknowledged)
    assert deployed.rescued(tenant) == []


def test_events_that_an_older_copy_lacks_are_appended_again(deployed: Deployment, tenant: str, tmp_path: Path) -> None:
    before = feed(deployed.services, tenant, SOME)
    older = copy_of(deployed.server, tmp_path)
    after = feed(deployed.services, tenant, SOME, prefix="after")
    stood = settled(deployed.services, tenant)
    restore(deployed.server, older)
    wait_until(lambda: version_of(deployed.url, tenant) == stood["version"], "the events are not appended again")
    check(deployed.services, tenant, before, after)
    assert deployed.services[0].digest(tenant) == stood["digest"]
    message = f"the log of tenant {tenant} had lost {len(after.acknowledged)} events; they were appended again"
    assert any(message in service.log() for service in deployed.services)
    check(deployed.services, tenant, before, after, feed(deployed.services, tenant, SOME, prefix="on"))
    assert deployed.rescued(tenant) == []


def test_an_older_copy_under_feedback_loses_no_label(deployed: Deployment, tenant: str, tmp_path: Path) -> None:
    with Feeder(deployed.services, tenant) as feeder:
        feeder.wait_for(SOME)
        older = copy_of(deployed.server, tmp_path)
        feeder.wait_for(SOME)
        restore(deployed.server, older)
        feeder.wait_for(SOME)
    wait_for_labels(deployed.url, tenant, feeder)
    check_once(check(deployed.services, tenant))


def test_known_events_are_appended_behind_another_history(deployed: Deployment, tenant: str, tmp_path: Path) -> None:
    before = feed(deployed.services, tenant, SOME)
    older = copy_of(deployed.server, tmp_path)
    after = feed(deployed.services, tenant, SOME, prefix="after")
    settled(deployed.services, tenant)
    others = feed_copy(older, deployed, tenant, 2 * SOME)
    restore(deployed.server, older)
    wait_for_labels(deployed.url, tenant, before, after, others)
    labels = [name for feeder in (before, after, others) for name in feeder.acknowledged]
    assert check(deployed.services, tenant).feedback_ids == Counter(labels)
    assert deployed.rescued(tenant) == []


def test_an_unknown_history_wins_and_the_state_in_memory_is_rescued(
    deployed: Deployment, tenant: str, tmp_path: Path
) -> None:
    fed = [feed(deployed.services, tenant, SOME)]
    older = copy_of(deployed.server, tmp_path)
    feed(deployed.services, tenant, SOME, prefix="after")
    stood = settled(deployed.services, tenant)
    deployed.services[0].post(f"/tenants/{tenant}/snapshot", None).raise_for_status()
    for service in deployed.services:
        service.terminate()
    for service in deployed.services:
        service.start()  # from the snapshot alone: they do not know the last events
        assert service.digest(tenant) == stood["digest"]
    fed.append(feed_copy(older, deployed, tenant, 2 * SOME))
    restore(deployed.server, older)
    wait_until(lambda: len(deployed.rescued(tenant)) == 2, "no state is rescued")
    log = check(deployed.services, tenant, *fed)
    assert log.version == 1 + sum(len(feeder.acknowledged) for feeder in fed)  # with the first settings
    check_rescue(deployed, tenant, stood)
    check(deployed.services, tenant, *fed, feed(deployed.services, tenant, SOME, prefix="on"))


def check_rescue(deployed: Deployment, tenant: str, stood: dict[str, Any]) -> None:
    """Check that /readyz names a file that can be imported."""
    service = deployed.services[0]
    (path,) = (service.data_dir / "rescued").glob(f"{tenant}-{stood['version']}-*")
    assert str(path) in service.readiness()["log"]["detail"]
    name = f"{tenant}-rescued"
    service.request("POST", f"/tenants/{name}/import", content=path.read_bytes(), headers=BINARY).raise_for_status()
    assert service.digest(name) == stood["digest"]


def settled(services: Sequence[Service], tenant: str) -> dict[str, Any]:
    """Return the state once all services agree on it."""
    check(services, tenant)
    return services[0].tenant(tenant)


def empty(deployed: Deployment) -> None:
    with client_of(deployed.url) as client:
        client.flushall()


def copy_of(server: Server, folder: Path) -> Path:
    """Copy the server's data. Every write is on disk before it is acknowledged."""
    shutil.copytree(server.folder / "appendonlydir", folder / "appendonlydir")
    return folder


def restore(server: Server, older: Path) -> None:
    """Replace the server's data by older data."""
    server.kill()
    shutil.rmtree(server.folder / "appendonlydir")
    shutil.copytree(older / "appendonlydir", server.folder / "appendonlydir")
    server.start()


def feed_copy(older: Path, deployed: Deployment, tenant: str, number: int) -> Feeder:
    """Give feedback through another service on a copy."""
    with (
        Server(deployed.server.program, older, *DURABLE) as server,
        Service(older / "service", redis_url=server.url) as service,
    ):
        server.start()
        return feed([service.start()], tenant, number, prefix="others")
