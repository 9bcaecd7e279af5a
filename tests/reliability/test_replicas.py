"""Replicas that share a store agree bit for bit. test_flow.py has two of them."""

from pathlib import Path

import pytest

from tests.reliability.deployments import deployment, on_a_server
from tests.reliability.oracle import check
from tests.reliability.traffic import feed

pytestmark = pytest.mark.timeout(60)


@on_a_server
def test_four_replicas_that_are_all_fed_agree(kind: str, tmp_path: Path) -> None:
    with deployment(kind, tmp_path, number=4) as deployed:
        check(deployed.services, "acme", feed(deployed.services, "acme", 400, clients=8))


def test_workers_of_one_service_agree(tmp_path: Path) -> None:
    with deployment("embedded", tmp_path, workers=2) as deployed:
        check(deployed.services, "acme", feed(deployed.services, "acme", 300, clients=8))
