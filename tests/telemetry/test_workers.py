"""The workers of one service collect metrics from each other."""

import asyncio
from pathlib import Path

import pytest

from app.telemetry.workers import FOLDER, WorkerGroup

pytestmark = pytest.mark.anyio


async def page_of_first() -> bytes:
    return b"first"


async def test_each_worker_has_an_index_and_collects_from_the_others(tmp_path: Path) -> None:
    first, second = WorkerGroup(tmp_path, 3), WorkerGroup(tmp_path, 3)
    assert (first.index, second.index) == (0, 1)
    await first.listen(page_of_first)
    assert await second.collect() == [b"first"], "the third has not started"
    first.close()
    second.close()


async def test_a_released_index_is_claimed_again(tmp_path: Path) -> None:
    first, second = WorkerGroup(tmp_path, 2), WorkerGroup(tmp_path, 2)
    await first.listen(page_of_first)
    first.close()
    successor = WorkerGroup(tmp_path, 2)
    await successor.listen(page_of_first)  # the socket of the first is still there
    assert successor.index == 0
    assert await second.collect() == [b"first"]
    successor.close()
    second.close()


async def test_a_worker_that_hangs_is_left_out(tmp_path: Path) -> None:
    first, second = WorkerGroup(tmp_path, 2), WorkerGroup(tmp_path, 2)
    over = asyncio.Event()

    async def page_that_hangs() -> bytes:
        await over.wait()
        return b"late"

    await first.listen(page_that_hangs)
    assert await second.collect() == []
    over.set()
    await asyncio.sleep(0.05)
    first.close()
    second.close()


async def test_a_single_worker_is_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    alone = WorkerGroup.of_environment(1)
    await alone.listen(page_of_first)
    assert (alone.index, await alone.collect(), any(tmp_path.iterdir())) == (0, [], False)  # noqa: ASYNC240 - an empty folder
