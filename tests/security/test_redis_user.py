"""The Redis user that SECURITY.md recommends has the permissions that Sluice needs, and few others."""

import re
from pathlib import Path

import httpx
import pytest
import redis
from redis.exceptions import NoPermissionError

from tests.servers import Server
from tests.services import ROOT, Service

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PASSWORD = "PASSWORD"  # noqa: S105 - of a server for this test only


@pytest.mark.timeout(90)
def test_the_recommended_user_can_run_sluice(store: Server, tmp_path: Path) -> None:
    line = re.search(r"ACL (SETUSER sluice .*)", PAGE)
    assert line
    store.flush_all()  # keys of other tests would require authentication
    with redis.Redis.from_url(store.url) as client:
        client.execute_command("ACL", *line[1].split())
    with Service(tmp_path, redis_url=as_user(store.url, "sluice", PASSWORD)).start() as service:
        assert service.feedback("acme", features={"a": 1}, label=1).status_code == httpx.codes.OK
        kept = service.predict("acme", features={"a": 1}).json()["prediction_id"]
        assert service.feedback("acme", prediction_id=kept, label=1).status_code == httpx.codes.OK
        assert service.post("/tenants/acme/snapshot", None).status_code == httpx.codes.OK
        assert service.status("/tenants") == service.status("/readyz") == httpx.codes.OK
        assert service.request("DELETE", "/tenants/acme").status_code == httpx.codes.NO_CONTENT


@pytest.mark.parametrize(
    "command", ["FLUSHALL", "KEYS *", "CONFIG SET dir /tmp", "REPLICAOF NO ONE", "GET other", "SHUTDOWN"]
)
def test_the_recommended_user_cannot_run_other_commands(store: Server, command: str) -> None:
    line = re.search(r"ACL (SETUSER sluice .*)", PAGE)
    assert line
    with redis.Redis.from_url(store.url) as client:
        client.execute_command("ACL", *line[1].split())
    with redis.Redis.from_url(as_user(store.url, "sluice", PASSWORD)) as client, pytest.raises(NoPermissionError):
        client.execute_command(*command.split())


def as_user(url: str, name: str, password: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}username={name}&password={password}"
