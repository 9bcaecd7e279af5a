"""Translation of redis-py's errors into errors of the store."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from redis import exceptions as raised

from app.storage.errors import StoreDamaged, StoreUnavailable, StoreUnusable

REDIS_ERRORS: Final = (raised.RedisError, raised.RedisClusterException, OSError)
REASONS: Final[tuple[tuple[type[Exception], str], ...]] = (  # the first match counts: subclasses before their bases
    (raised.AuthenticationError, "refuses the user name or the password of SLUICE_REDIS_URL"),
    (raised.AuthorizationError, "refuses the user of SLUICE_REDIS_URL"),
    (raised.BusyLoadingError, "is still loading its data"),
    (raised.MaxConnectionsError, "has no free connection: too many requests wait for it"),
    (raised.ConnectionError, "cannot be reached"),
    (raised.TimeoutError, "did not answer in time"),
    (raised.InvalidResponse, "does not answer in the protocol of Redis"),
    (raised.ReadOnlyError, "is a read-only replica now"),
    (raised.OutOfMemoryError, "has no memory left (its maxmemory is reached)"),
    (raised.MasterDownError, "is a replica that has lost its primary"),
    (raised.ClusterDownError, "is a cluster that is down"),
    (raised.TryAgainError, "is moving this tenant between nodes"),
    (raised.ClusterError, "is a cluster whose nodes disagree about which of them has this tenant"),
    (raised.SlotNotCoveredError, "is a cluster without a node for this tenant"),
    (OSError, "cannot be reached"),
)
# Errors without a class in redis-py. Redis before 7 wraps an error inside a script, with a dash before its code;
# redis-py adds which command of a pipeline failed.
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
REFUSED_WRITES: Final = ("MISCONF", "NOREPLICAS", "OOM", "READONLY")  # a server that can be read, but not written
PROGRAMMING: Final = (raised.CrossSlotTransactionError, raised.InvalidPipelineStack)


@contextmanager
def store_errors(where: str = "Redis") -> Iterator[None]:
    """Raise redis-py's errors of an absent or refusing server as ours; others, such as a script's, pass through."""
    try:
        yield
    except REDIS_ERRORS as error:
        ours = store_error(error, where)
        if ours is None:
            raise
        raise ours from error


def failed_append(error: BaseException) -> StoreUnavailable | StoreUnusable:
    """Return the error of an append to one log; raise any other."""
    ours = error if isinstance(error, StoreUnavailable | StoreUnusable) else store_error(error)
    if ours is None and isinstance(error, raised.ResponseError):
        return StoreDamaged(f"the store cannot append to it ({error})")
    if ours is None:
        raise error
    return ours


def store_error(error: BaseException, where: str = "Redis") -> StoreUnavailable | StoreUnusable | None:
    """Translate an error; None if it is about the command and not about the state of the server."""
    if isinstance(error, StoreUnavailable):  # translated already
        return error
    if isinstance(error, raised.RedisClusterException) and "Cluster mode is not enabled" in str(error):
        return StoreUnusable(f"{where} is not a cluster; write redis:// at the beginning of SLUICE_REDIS_URL")
    if isinstance(error, raised.ResponseError) and "WRONGTYPE" in str(error):
        return StoreDamaged(f"{where} has a value of the wrong type under one of the keys of Sluice")
    reason = _reason(error)
    return None if reason is None else StoreUnavailable(f"{where} {reason}")


def refuses_writes(error: raised.ResponseError) -> bool:
    """Whether the server answers, but does not accept writes."""
    if isinstance(error, (raised.ReadOnlyError, raised.OutOfMemoryError)):
        return True
    code = CODE.search(str(error))
    return code is not None and code[1] in REFUSED_WRITES


def _reason(error: BaseException) -> str | None:
    for kind, reason in REASONS:
        if isinstance(error, kind):
            return reason
    if isinstance(error, raised.RedisClusterException) and not isinstance(error, PROGRAMMING):
        return "cannot be reached as a cluster, or does not cover all slots"
    code = CODE.search(str(error)) if isinstance(error, raised.ResponseError) else None
    return CODES[code[1]] if code else None
