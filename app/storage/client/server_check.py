"""Whether a server can be used: its version, its mode, and the settings that protect acknowledged feedback."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import NoPermissionError, ResponseError

from app.storage.client.cluster import ClusterClient
from app.storage.client.failures import store_error
from app.storage.errors import StoreUnusable

if TYPE_CHECKING:
    from app.storage.client.connection import Connection

OLDEST: Final = {"redis": (6, 2), "valkey": (7, 2)}
RECOMMENDED: Final = (  # a setting, its value, and the risk of any other value
    ("appendonly", "yes", "a restart of the server loses acknowledged feedback"),
    ("appendfsync", "always", "a crash of the server can lose the last second of acknowledged feedback"),
    ("maxmemory-policy", "noeviction", "a full server evicts data that it should keep"),
)

logger = logging.getLogger("sluice.storage")


async def check_server(connection: "Connection") -> None:
    """Raise StoreUnusable for a server that cannot be used; log a warning for each risky setting."""
    await _check_version_and_mode(connection)
    for sentence in await advice(connection):
        logger.warning("%s", sentence)


async def advice(connection: "Connection") -> list[str]:
    """Return a sentence for each setting that the operator should change."""
    sentences: list[str] = []
    for name, wanted, risk in RECOMMENDED:
        try:
            found = await _settings(connection, name)
        except ResponseError as error:
            if store_error(error) is not None:
                raise
            return [f"{connection.shown} does not show its settings: whether it keeps acknowledged feedback is unknown"]
        sentences += [
            f"{connection.shown} has {name} {value}, not {wanted}: {risk}"
            for value in sorted(found - {wanted})
            if name != "appendfsync" or not any("appendonly" in sentence for sentence in sentences)
        ]
    return sentences


async def _settings(connection: "Connection", name: str) -> set[str]:
    """Return the values of a setting on all primaries."""
    client = connection.redis
    if isinstance(client, ClusterClient):
        await client.initialize()
        answers = [await client.config_get(name, target_nodes=node) for node in client.get_primaries()]
    else:
        answers = [await client.config_get(name)]
    return {str(answer[name]) for answer in answers if name in answer}


async def _check_version_and_mode(connection: "Connection") -> None:
    try:
        info = await _info(connection)
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
    if version and tuple(int(part) for part in version.split(".")[:2]) < OLDEST[name]:
        needed = " or ".join(f"{kind} {major}.{minor}" for kind, (major, minor) in OLDEST.items())
        raise StoreUnusable(f"{connection.shown} is {name} {version}; Sluice needs at least {needed}")


async def _info(connection: "Connection") -> Mapping[str, Any]:
    client = connection.redis
    if isinstance(client, ClusterClient):
        await client.initialize()
        return dict(await client.info("server", target_nodes=client.get_default_node()))
    return dict(await client.info("server"))
