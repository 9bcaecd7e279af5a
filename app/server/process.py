"""The process: the embedded store if no other is given, the port, and one worker or several."""

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

from app.api.delaying import Delay
from app.api.limits import SPARE_CONNECTIONS, ConnectionLimits
from app.api.protocol import PatientProtocol
from app.learning.errors import BadSetting
from app.settings import Settings
from app.storage.api_keys import ApiKeyStore
from app.storage.client import connect
from app.storage.embedded.valkey import EmbeddedValkey
from app.storage.errors import StoreUnavailable, StoreUnusable
from app.telemetry.logs import configure
from app.telemetry.workers import FOLDER

logger = logging.getLogger("sluice")

WATCH_SECONDS = 0.5
OTHER_FILES = 150  # open files of a worker that are no connections of clients
READERS_TIMES = 10  # of the time for a body: the kernel tells of a slow reader only when much was read at once


def serve(settings: Settings) -> None:
    """Serve until a signal comes."""
    configure(settings.log_level, settings.log_format)
    with _listening(settings) as listening, _store(settings) as url, _meeting_place(settings):
        _check_door(settings, url)
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
    """How many of so many connections can be open at once. The limit on open files is raised as far as it may be."""
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
    """How connections are served; uvicorn calls it like a class, and hands it to its workers."""
    reader_seconds = READERS_TIMES * settings.body_idle_seconds
    limits = ConnectionLimits(
        settings.head_seconds, settings.max_head_bytes, reader_seconds, room_for(settings.max_connections)
    )
    return cast("type[asyncio.Protocol]", functools.partial(PatientProtocol, limits=limits, delay=Delay()))


def _run_one(config: uvicorn.Config, listening: socket.socket) -> None:
    """Serve from this very process. uvicorn raises the signal once more when it is done: then it is no news."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    server = uvicorn.Server(config)
    server.run(sockets=[listening])
    if not server.started:
        raise BadSetting("the service could not start; the lines above say why")


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    """The port, taken before anything else is started."""
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
    """The URL of the store: the operator's own, or that of a Valkey that lives as long as this service."""
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


def _check_door(settings: Settings, url: str) -> None:
    """Say who may come in; BadSetting where that would be nobody, and the operator has not asked for it."""
    keys = asyncio.run(_number_of_keys(url))
    if settings.access == "open":
        logger.warning("SLUICE_AUTH=open: whoever reaches %s may do everything", settings.host)
    elif settings.access == "auto" and keys == 0:
        logger.info("open to this machine, because there is no key yet: sluice keys create makes one")
    elif settings.auth is None and settings.access == "required" and keys == 0:
        raise BadSetting(
            f"{settings.host} can be reached from other machines, and there is no key yet: make one with `sluice keys "
            "create --roles admin --tenants '*'`, or let everybody in with SLUICE_AUTH=open"
        )
    elif keys == 0:
        logger.warning("nobody can come in yet: make a key with sluice keys create")


async def _number_of_keys(url: str) -> int | None:
    """None if the store does not answer: then the service waits for it, with its door closed."""
    connection = connect(url)
    try:
        return len((await ApiKeyStore(connection).read())[1])
    except (StoreUnavailable, StoreUnusable):
        return None
    finally:
        await connection.aclose()


@contextmanager
def _meeting_place(settings: Settings) -> Iterator[None]:
    """Where several workers find each other."""
    if settings.workers == 1:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder:
        os.environ[FOLDER] = folder
        yield


def _watch(embedded: EmbeddedValkey, over: threading.Event) -> None:
    """Start the embedded Valkey again when it dies."""
    while not over.wait(WATCH_SECONDS):
        try:
            embedded.ensure_running()
        except Exception:
            logger.exception("the embedded Valkey cannot be started again yet")
