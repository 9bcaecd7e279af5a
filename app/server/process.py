"""The process: the embedded store if no other is configured, the port, and one or several workers."""

import asyncio
import functools
import logging
import os
import resource
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import uvicorn
from uvicorn.supervisors import Multiprocess

from app.learning.errors import BadSetting
from app.server.connection_limits import SPARE_CONNECTIONS, ConnectionLimits, RefusalDelay
from app.server.protocol import LimitedProtocol
from app.settings import Settings
from app.storage.api_keys import ApiKeyStore
from app.storage.client import connect
from app.storage.embedded.valkey import EmbeddedValkey
from app.storage.errors import StoreUnavailable, StoreUnusable
from app.telemetry.logs import configure
from app.telemetry.workers import FOLDER

logger = logging.getLogger("sluice")

WATCH_SECONDS = 0.5
OTHER_FILES = 150  # open files of a worker that are not client connections
READER_FACTOR = 10  # times the idle time of a body: the kernel reports a slow reader late


def serve(settings: Settings) -> None:
    """Serve until a signal arrives."""
    configure(settings.log_level, settings.log_format)
    with _listening(settings) as listening, _store(settings) as url, _worker_folder(settings):
        _check_access(settings, url)
        os.environ["SLUICE_REDIS_URL"] = url  # workers are processes of their own and read the environment
        os.environ.pop("SLUICE_REDIS_URL_FILE", None)
        config = uvicorn.Config(
            "app.main:create",
            factory=True,
            loop="uvloop",
            http=_protocol(settings),
            ws="none",
            workers=settings.workers,
            access_log=False,
            log_config=None,
            lifespan="on",
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=[str(network) for network in settings.trusted_proxies],
            timeout_keep_alive=settings.idle_seconds,
            timeout_graceful_shutdown=max(1, int(settings.shutdown_seconds / 2)),
        )
        logger.info("listening on http://%s:%d", *listening.getsockname()[:2])
        if settings.workers > 1:
            Multiprocess(config, sockets=[listening]).run()
        else:
            _run_one(config, listening)


def room_for(connections: int) -> int:
    """Raise the limit on open files as far as allowed; return how many connections can then be open at once."""
    needed = connections + SPARE_CONNECTIONS + OTHER_FILES
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < needed:
        files = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    room = max(connections - (needed - files), 1) if files < needed else connections
    if room < connections:
        logger.warning(
            "a worker takes %d connections, not %d (SLUICE_MAX_CONNECTIONS): it may open only %d files (ulimit -n)",
            room,
            connections,
            files,
        )
    return room


def _protocol(settings: Settings) -> type[asyncio.Protocol]:
    """Return the protocol with its limits; uvicorn calls it like a class, and passes it to its workers."""
    reader_seconds = READER_FACTOR * settings.body_idle_seconds
    limits = ConnectionLimits(
        settings.head_seconds, settings.max_head_bytes, reader_seconds, room_for(settings.max_connections)
    )
    return cast("type[asyncio.Protocol]", functools.partial(LimitedProtocol, limits=limits, delay=RefusalDelay()))


def _run_one(config: uvicorn.Config, listening: socket.socket) -> None:
    """Serve in this process. uvicorn raises the signal again when it is done; that one is ignored."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    server = uvicorn.Server(config)
    server.run(sockets=[listening])
    if not server.started:
        raise BadSetting("the service could not start; see the log lines above")


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    """Bind the port before anything else is started."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((settings.host, settings.port))
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            raise BadSetting(f"cannot listen on {where} (SLUICE_HOST, SLUICE_PORT): {error.strerror}") from None
        listening.set_inheritable(True)
        yield listening


@contextmanager
def _store(settings: Settings) -> Iterator[str]:
    """Yield the URL of the store: the configured one, or that of an embedded Valkey that runs with this service."""
    if settings.redis_url is not None:
        yield settings.redis_url.get_secret_value()
        return
    embedded = EmbeddedValkey(settings.data_dir)
    url = embedded.start()
    logger.info("embedded Valkey, process %s, data in %s", embedded.pid, settings.data_dir)
    over = threading.Event()
    watching = threading.Thread(target=_watch, args=(embedded, over), name="watch-valkey", daemon=True)
    watching.start()
    try:
        yield url
    finally:
        over.set()
        watching.join()
        embedded.stop()


def _check_access(settings: Settings, url: str) -> None:
    """Log who has access; BadSetting if a public address has no key, and the operator has not asked for that."""
    keys = asyncio.run(_number_of_keys(url))
    if settings.access == "open":
        logger.warning("SLUICE_AUTH=open: every caller that reaches %s may do everything", settings.host)
    elif settings.access == "auto" and keys == 0:
        logger.info("no key exists yet, so every caller on this machine has access; create one with sluice keys create")
    elif settings.auth is None and settings.access == "required" and keys == 0:
        raise BadSetting(
            f"{settings.host} can be reached from other machines, and no key exists yet: create one with `sluice keys "
            "create --roles admin --tenants '*'`, or allow access without keys with SLUICE_AUTH=open"
        )
    elif keys == 0:
        logger.warning("no caller has access yet: create a key with sluice keys create")


async def _number_of_keys(url: str) -> int | None:
    """Return None if the store does not answer: then the service waits for it and refuses requests."""
    connection = connect(url)
    try:
        return len((await ApiKeyStore(connection).read())[1])
    except (StoreUnavailable, StoreUnusable):
        return None
    finally:
        await connection.aclose()


@contextmanager
def _worker_folder(settings: Settings) -> Iterator[None]:
    """Make the folder that several workers share."""
    if settings.workers == 1:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder:
        os.environ[FOLDER] = folder
        yield


def _watch(embedded: EmbeddedValkey, over: threading.Event) -> None:
    """Restart the embedded Valkey when it dies."""
    while not over.wait(WATCH_SECONDS):
        try:
            embedded.ensure_running()
        except Exception:
            logger.exception("the embedded Valkey cannot be restarted yet")
