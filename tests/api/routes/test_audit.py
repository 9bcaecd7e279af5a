"""GET /audit: filters and pages, and who sees what."""

from collections.abc import AsyncIterator

import pytest

from app.auth.audit import AuditEntry
from tests.api.test_authorisation import Guarded, guarded  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio
ENTRIES = [
    AuditEntry(at=1_794_992_400_000 + 1000 * k, action=("create_key", "delete_tenant")[k % 2], key_id=f"k{k % 3}",
               tenant="mine" if k % 2 else None, request_id=f"r{k}")
    for k in range(9, 0, -1)
]  # fmt: skip


@pytest.fixture(autouse=True)
def _entries(guarded: Guarded) -> None:  # noqa: F811 - the fixture
    async def latest(before: str | None = None) -> AsyncIterator[tuple[str, AuditEntry]]:
        for entry in ENTRIES:
            name = f"{entry.at}-0"
            if before is None or name < before:
                yield name, entry

    guarded.audit.latest = latest  # type: ignore[method-assign]


async def found(guarded: Guarded, query: str, tenants: str = "*") -> list[str]:  # noqa: F811
    answer = await guarded.ask("GET", f"/audit?{query}", await guarded.key("admin", tenants=tenants))
    assert answer.status_code == 200, answer.text
    return [entry["request_id"] for entry in answer.json()["entries"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=2", ["r9", "r8"]),
        ("tenant=mine&limit=2", ["r9", "r7"]),
        ("key_id=k1", ["r7", "r4", "r1"]),
        ("action=create_key", ["r8", "r6", "r4", "r2"]),
        ("since=2026-11-18T09:00:08Z", ["r9", "r8"]),
        ("until=2026-11-18T09:00:03Z", ["r2", "r1"]),
        ("before=1794992403000-0", ["r2", "r1"]),
    ],
)
async def test_filters_and_pages(guarded: Guarded, query: str, expected: list[str]) -> None:  # noqa: F811
    assert await found(guarded, query) == expected


async def test_a_key_for_some_tenants_sees_only_these(guarded: Guarded) -> None:  # noqa: F811
    assert await found(guarded, "", tenants="mine") == ["r9", "r7", "r5", "r3", "r1"]
    assert await found(guarded, "", tenants="other-*") == []
    assert (await guarded.ask("GET", "/audit", await guarded.key("review", tenants="*"))).status_code == 403


@pytest.mark.parametrize("query", ["limit=0", "before=x", "since=now", "who=me"])
async def test_a_wrong_parameter_is_refused(guarded: Guarded, query: str) -> None:  # noqa: F811
    answer = await guarded.ask("GET", f"/audit?{query}", await guarded.key("admin", tenants="*"))
    assert answer.status_code == 422
    assert query.split("=", maxsplit=1)[0] in answer.json()["detail"]
