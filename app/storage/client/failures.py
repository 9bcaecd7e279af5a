"""What redis-py raises, told as what the store can answer."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from redis import exceptions as raised

from app.storage.errors import StoreDamaged, StoreUnavailable, StoreUnusable

REASONS: Final[tuple[tuple[type[Exception], str], ...]] = (  # the first that fits; the particular before the general
    (raised.AuthenticationError, "refuses the user name or the password of SLUICE_REDIS_URL"),
    (raised.AuthorizationError, "refuses the user of SLUICE_REDIS_URL"),
    (raised.BusyLoadingError, "is still loading its data"),
    (raised.MaxConnectionsError, "has no free connection: too many requests wait for it"),
    (raised.ConnectionError, "cannot be reached"),
    (raised.TimeoutError, "did not answer in time"),
    (raised.ReadOnlyError, "is a read-only replica now"),
    (raised.OutOfMemoryError, "has no memory left (its maxmemory is reached)"),
    (raised.MasterDownError, "is a replica that has lost its primary"),
    (raised.ClusterDownError, "is a cluster that is down"),
    (raised.TryAgainError, "is moving this tenant between nodes"),
    (raised.ClusterError, "is a cluster whose nodes disagree about who has this tenant"),
    (raised.SlotNotCoveredError, "is a cluster without a node for this tenant"),
    (OSError, "cannot be reached"),
)
# Errors without a class of their own. Redis before 7 wraps what happens inside a script, with a dash before the code;
# redis-py tells which command of a pipeline it was.
CODES: Final = {
    "MISCONF": "cannot write to its disk",
    "NOREPLICAS": "has too few replicas to accept writes",
    "BUSY": "is busy with a script",
    "OOM": "has no memory left (its maxmemory is reached)",
    "READONLY": "is a read-only replica now",
    "MASTERDOWN": "is a replica that has lost its primary",
    "CLUSTERDOWN": "is a cluster that is down",
}
CODE: Final = re.compile(rf"(?:^|-|caused error: \(?['\"]?)({'|'.join(CODES)}) ")
PROGRAMMING: Final = (raised.CrossSlotTransactionError, raised.InvalidPipelineStack)


@contextmanager
def store_errors(where: str = "Redis") -> Iterator[None]:
    """Turn redis-py's errors of an absent or refusing server into ours; others, such as a script's, go through."""
    try:
        yield
    except (raised.RedisError, raised.RedisClusterException, OSError) as error:
        told = store_error(error, where)
        if told is None:
            raise
        raise told from error


def store_error(error: BaseException, where: str = "Redis") -> StoreUnavailable | StoreUnusable | None:
    """The error of the store that this one means; None if it is not the server's state but what was asked for."""
    if isinstance(error, raised.RedisClusterException) and "Cluster mode is not enabled" in str(error):
        return StoreUnusable(f"{where} is not a cluster; write redis:// at the beginning of SLUICE_REDIS_URL")
    if isinstance(error, raised.ResponseError) and "WRONGTYPE" in str(error):
        return StoreDamaged(f"{where} holds something of another kind under one of the keys of Sluice")
    reason = _reason(error)
    return None if reason is None else StoreUnavailable(f"{where} {reason}")


def _reason(error: BaseException) -> str | None:
    for kind, reason in REASONS:
        if isinstance(error, kind):
            return reason
    if isinstance(error, raised.RedisClusterException) and not isinstance(error, PROGRAMMING):
        return "cannot be reached as a cluster, or does not cover all slots"
    code = CODE.search(str(error)) if isinstance(error, raised.ResponseError) else None
    return CODES[code[1]] if code else None
