"""What an acknowledged write survives, how the store proves it, and why acknowledgements are refused at times."""

import logging
from dataclasses import dataclass
from typing import Any, Final

from app.storage.client.wire import Argument, Command
from app.storage.errors import StoreUnavailable
from app.storage.redis_keys import synced_of

NOT_REPLICATED: Final = (
    "the write did not reach the disk of a replica in time; it is safe to retry with the same feedback_id"
)

logger = logging.getLogger("sluice.storage")


@dataclass(frozen=True, slots=True)
class Durability:
    """The level of SLUICE_DURABILITY, and whether unsafe settings of the server are accepted."""

    replicated: bool = False
    timeout_milliseconds: int = 2000
    allow_unsafe: bool = False

    @property
    def wait_seconds(self) -> float:
        """How long the server may block to prove a write."""
        return self.timeout_milliseconds / 1000 if self.replicated else 0.0

    def proof(self, key: Argument) -> list[Command]:
        """Return the commands behind a write that block until it is on the disks of the primary and of a replica.

        WAITAOF only waits for writes of its own connection. A retry may find that there is nothing left to write, so a
        small write comes first: what was written before it, by any connection, is on the replica before it. WAIT comes
        between because a replica reports its disk only when it is asked, or once a second: WAIT asks when the write
        arrives there, and WAITAOF when that is on disk.
        """
        half = self.timeout_milliseconds // 2
        return [("SET", synced_of(key), ""), ("WAIT", 1, half), ("WAITAOF", 1, 1, half)]


@dataclass(slots=True)
class StoreStatus:
    """What is known about the ability of the store to keep what it is given."""

    shown: str  # its kind and address, as in messages
    is_cluster: bool = False
    refusal: str | None = None  # why nothing is acknowledged: unsafe settings, or no replica
    write_failure: str | None = None  # why the server refused the last write

    @property
    def trouble(self) -> str | None:
        """Why nothing is acknowledged, in a sentence."""
        return self.refusal or (None if self.is_cluster else self.write_trouble)

    @property
    def write_trouble(self) -> str | None:
        """Why a server, or one node of a cluster, does not accept writes."""
        return f"cannot write: {self.write_failure}" if self.write_failure else None

    def note_write_failure(self, sentence: str) -> None:
        """Note that the server refuses writes."""
        if self.write_failure is None:
            logger.error("%s; feedback is refused until it can write", sentence)
        self.write_failure = sentence

    def without_address(self, sentence: str) -> str:
        """Return a sentence for strangers, who need not know where the store is."""
        return sentence.replace(self.shown, "Redis")


def proven(answers: list[Any], count: int) -> list[Any]:
    """Return the answers to `count` commands, as errors unless the answers to their proof behind them are good."""
    *others, counts = answers[count:]
    is_proven = (
        isinstance(counts, list) and min(counts) >= 1 and not any(isinstance(each, Exception) for each in others)
    )
    if is_proven:
        return answers[:count]
    return [each if isinstance(each, Exception) else StoreUnavailable(NOT_REPLICATED) for each in answers[:count]]
