"""How many connections a worker takes, by the limit on open files."""

import logging
import resource

import pytest

from app.server.connection_limits import SPARE_CONNECTIONS
from app.server.process import OTHER_FILES, room_for

BESIDE = SPARE_CONNECTIONS + OTHER_FILES
ENDLESS = resource.RLIM_INFINITY


class Files:
    """A fake limit on open files."""

    def __init__(self, soft: int, hard: int) -> None:
        self.limit = (soft, hard)

    def get(self, _: int) -> tuple[int, int]:
        return self.limit

    def set(self, _: int, limit: tuple[int, int]) -> None:
        self.limit = limit


@pytest.mark.parametrize(
    ("soft", "hard", "room", "raised"),
    [
        (50_000, 50_000, 1000, 50_000),
        (1000 + BESIDE, ENDLESS, 1000, 1000 + BESIDE),
        (256, ENDLESS, 1000, 1000 + BESIDE),
        (256, 50_000, 1000, 1000 + BESIDE),
        (256, 600 + BESIDE, 600, 600 + BESIDE),
        (64, 64, 1, 64),
    ],
)
def test_the_limit_is_raised_as_far_as_allowed_and_connections_fit_into_it(
    soft: int, hard: int, room: int, raised: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    files = Files(soft, hard)
    monkeypatch.setattr(resource, "getrlimit", files.get)
    monkeypatch.setattr(resource, "setrlimit", files.set)
    with caplog.at_level(logging.WARNING):
        assert room_for(1000) == room
    assert files.limit == (raised, hard)
    assert ("SLUICE_MAX_CONNECTIONS" in caplog.text) == (room < 1000)
