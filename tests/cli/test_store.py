"""The store, as commands open it."""

import pytest

from app.cli.store import audit_of
from app.storage.client import connect


def test_the_audit_is_kept_as_long_as_the_services_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_AUDIT_MAX_ENTRIES", "5000000")
    assert audit_of(connect("redis://127.0.0.1:1")).at_most == 5_000_000
