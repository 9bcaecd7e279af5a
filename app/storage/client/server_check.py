"""Whether a server can be used: its version, its mode, and the settings that protect acknowledged feedback."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import NoPermissionError, ResponseError

from app.storage.client.cluster import ClusterClient
from app.storage.client.failures import store_error
from app.storage.errors import StoreUnavailable, StoreUnusable

if TYPE_CHECKING:
    from app.storage.client.connection import Connection

OLDEST: Final = {"redis": (6, 2), "valkey": (7, 2)}
WAITAOF_SINCE: Final = (7, 2)
NEEDED: Final = (  # a setting, its value, and the risk of any other value
    ("appendonly", "yes", "a restart of the server loses acknowledged feedback"),
    ("maxmemory-policy", "noeviction", "a full server evicts data that it should keep"),
)
RECOMMENDED: Final = (
    "appendfsync",
    "always",
    "a crash of the server can lose the last second of acknowledged feedback",
)
OVERRIDE: Final = "SLUICE_ALLOW_UNSAFE_REDIS=true"

Info = Mapping[str, Any]


class NoReplica(StoreUnavailable):
    """A primary has no replica, which SLUICE_DURABILITY=replicated needs."""


async def check_server(connection: "Connection") -> list[str]:
    """Raise StoreUnusable for a server that must not be used, NoReplica for one that must not be used yet.

    Return a sentence for each setting that the operator should change.
    """
    await _check_version_and_mode(connection)
    settings = await _per_primary(connection, _settings)
    unsafe = _sentences(connection, settings, NEEDED)
    if connection.durability.replicated:
        await _check_replication(connection, settings)
    if unsafe and not connection.durability.allow_unsafe:
        raise StoreUnusable(f"{unsafe[0]}; change it on the server, or accept the risk with {OVERRIDE}")
    if not all(settings):
        return [f"{connection.shown} does not show its settings: whether it keeps acknowledged feedback is unknown"]
    if any("appendonly" in sentence for sentence in unsafe):
        return unsafe
    return unsafe + _sentences(connection, settings, [RECOMMENDED])


def _sentences(
    connection: "Connection",
    settings: list[Info],
    wanted: tuple[tuple[str, str, str], ...] | list[tuple[str, str, str]],
) -> list[str]:
    return [
        f"{connection.shown} has {name} {value}, not {right}: {risk}"
        for name, right, risk in wanted
        for value in sorted({found[name] for found in settings if name in found} - {right})
    ]


async def _settings(client: Any, options: dict[str, Any]) -> Info:  # noqa: ANN401 - any client of redis-py
    """Return the settings of a server: from CONFIG, else from INFO, else nothing."""
    names = (*(name for name, _, _ in NEEDED), RECOMMENDED[0])
    try:
        answers = [await client.config_get(name, **options) for name in names]
        return {name: str(answer[name]) for name, answer in zip(names, answers, strict=True) if name in answer}
    except ResponseError as error:
        if store_error(error) is not None:
            raise
    found: dict[str, str] = {}
    for section, field, name in (
        ("persistence", "aof_enabled", "appendonly"),
        ("memory", "maxmemory_policy", "maxmemory-policy"),
    ):
        try:
            value = (await client.info(section, **options)).get(field)
        except ResponseError as error:
            if store_error(error) is not None:
                raise
            return {}
        if value is not None:
            found[name] = {0: "no", 1: "yes"}.get(value, str(value))
    return found


async def _check_replication(connection: "Connection", settings: list[Info]) -> None:
    """Check what SLUICE_DURABILITY=replicated needs: an append-only file, and a replica of every primary."""
    if any(found.get("appendonly") == "no" for found in settings):
        raise StoreUnusable(f"{connection.shown} has appendonly no, which SLUICE_DURABILITY=replicated needs")
    try:
        infos = await _per_primary(connection, _replication)
    except NoPermissionError:  # then the first write tells
        return
    if any(info.get("connected_slaves") == 0 for info in infos):
        raise NoReplica(
            f"{connection.shown} has no connected replica, which SLUICE_DURABILITY=replicated needs: "
            "nothing is acknowledged until there is one"
        )


async def _replication(client: Any, options: dict[str, Any]) -> Info:  # noqa: ANN401 - any client of redis-py
    return dict(await client.info("replication", **options))


async def _per_primary(connection: "Connection", ask: Callable[[Any, dict[str, Any]], Awaitable[Info]]) -> list[Info]:
    """Ask all primaries."""
    client = connection.redis
    if isinstance(client, ClusterClient):
        await client.initialize()
        return [await ask(client, {"target_nodes": node}) for node in client.get_primaries()]
    return [await ask(client, {})]


async def _check_version_and_mode(connection: "Connection") -> None:
    try:
        info = await _server_info(connection)
    except NoPermissionError:  # this user may not use INFO; the commands that follow will fail if the server is wrong
        return
    mode = info.get("server_mode") or info.get("redis_mode")
    if mode == "cluster" and not connection.is_cluster:
        raise StoreUnusable(f"{connection.shown} runs in cluster mode; write redis+cluster:// in SLUICE_REDIS_URL")
    if mode == "sentinel":
        raise StoreUnusable(
            f"{connection.shown} is a Sentinel; write redis+sentinel://host:port/name-of-primary in SLUICE_REDIS_URL"
        )
    name = "valkey" if "valkey_version" in info else "redis"
    version = str(info.get(f"{name}_version", ""))
    if not version:
        return
    number = tuple(int(part) for part in version.split(".")[:2])
    if number < OLDEST[name]:
        needed = " or ".join(f"{kind} {major}.{minor}" for kind, (major, minor) in OLDEST.items())
        raise StoreUnusable(f"{connection.shown} is {name} {version}; Sluice needs at least {needed}")
    if connection.durability.replicated and number < WAITAOF_SINCE:
        raise StoreUnusable(
            f"{connection.shown} is {name} {version}, without WAITAOF: SLUICE_DURABILITY=replicated needs at least "
            "redis 7.2 or valkey 7.2"
        )


async def _server_info(connection: "Connection") -> Info:
    client = connection.redis
    if isinstance(client, ClusterClient):
        await client.initialize()
        return dict(await client.info("server", target_nodes=client.get_default_node()))
    return dict(await client.info("server"))
