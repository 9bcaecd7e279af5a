"""Stored data survives new limits and overflows."""

from pathlib import Path

import pytest

from tests.security.forged_models import with_all_weights
from tests.services import Service
from tests.tenants.test_overflow import sound

pytestmark = [pytest.mark.timeout(90), pytest.mark.e2e]  # they take long
FILE = {"content-type": "application/octet-stream"}
LONG = "a" * 100


def test_limits_apply_to_new_data_and_not_to_stored_data(tmp_path: Path) -> None:
    with Service(tmp_path).start() as service:
        service.feedback("old", features={LONG: 1, "b": 2}, label=1).raise_for_status()
        before = service.digest("old")
        service.terminate()
        service.settings = {"max_feature_name_bytes": 50, "max_features_per_tenant": 1000}
        service.start()
        assert service.digest("old") == before
        assert service.feedback("old", features={"b": 1}, label=-1).status_code == 200
        refused = service.feedback("old", features={LONG: 1}, label=1)
        assert (refused.status_code, refused.json()["type"]) == (413, "/problems/too-large")
        assert "(SLUICE_MAX_FEATURE_NAME_BYTES)" in refused.json()["detail"]
        service.feedback("new", features={"b": 1}, label=1).raise_for_status()
        assert service.tenant("new")["config"]["max_features"] == 1000
        refused = service.request("PUT", "/tenants/new", json={"max_features": 1001})
        assert (refused.status_code, refused.json()["type"]) == (422, "/problems/bad-setting")
        assert "(SLUICE_MAX_FEATURES_PER_TENANT)" in refused.json()["detail"]
        model = service.request("GET", "/tenants/old/export").content
        refused = service.request("POST", "/tenants/copy/import", content=model, headers=FILE)
        assert (refused.status_code, refused.json()["type"]) == (422, "/problems/bad-setting")


def test_a_tenant_whose_numbers_overflow_survives_a_restart(tmp_path: Path) -> None:
    with Service(tmp_path, snapshot_every_events=1, snapshots_kept=1, log_retention_events=0).start() as service:
        foreign = with_all_weights(sound("ftrl"), 1e308)
        service.request("POST", "/tenants/acme/import", content=foreign, headers=FILE).raise_for_status()
        for label in (1, -1, 1, -1, 1):
            service.feedback("acme", features={"class:1": 1, "class:-1": 1}, label=label).raise_for_status()
        refused = service.request("POST", "/tenants/acme/snapshot")
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/model-not-finite")
        before = service.digest("acme")
        assert service.terminate().code == 0
        service.start()
        assert service.digest("acme") == before
        assert service.predict("acme", features={"class:1": 1}).json()["score"] is None
        assert "Traceback" not in service.whole_log()
