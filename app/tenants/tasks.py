"""Ending tasks for good."""

import asyncio
from collections.abc import Iterable

AGAIN_SECONDS = 0.2


async def end(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended: a cancellation that meets the answer of a command can be lost on its way."""
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=AGAIN_SECONDS)
