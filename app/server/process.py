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

from app.auth.key_file import KeyFile, KnownKeys
from app.auth.keyring import copied_for, merge
from app.auth.keys import now_milliseconds
from app.learning.errors import BadSetting
from app.server.connection_limits import SPARE_CONNECTIONS, ConnectionLimits, RefusalDelay
from app.server.protocol import LimitedProtocol
from app.server.supervisor import Supervisor
from app.settings import Settings
from app.storage.access.api_keys import ApiKeyStore
from app.storage.client import connect
from app.storage.embedded.orphans import LONGEST_SOCKET_PATH
from app.storage.embedded.signals import handled
from app.storage.embedded.valkey import EmbeddedValkey
from app.storage.errors import StoreDamaged, StoreUnavailable
from app.telemetry.logs import configure
from app.telemetry.workers import FOLDER

logger = logging.getLogger("sluice")

WATCH_SECONDS = 0.5
ROOM_FOR_NAMES = 40  # of the folder that workers share, and of a socket in it
OTHER_FILES = 150  # open files of a worker that are not client connections
SLACK_SECONDS = 0.5  # beyond its time to shut down, before a worker is killed
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
            Supervisor(config, listening, settings.shutdown_seconds + SLACK_SECONDS).run()
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
    """Serve in this process. A signal ends the server, also one that comes before uvicorn handles signals itself.

    uvicorn raises the signal again when it is done; that one has no effect.
    """
    server = uvicorn.Server(config)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
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
    if settings.durability == "replicated":
        raise BadSetting(
            "SLUICE_DURABILITY is replicated, but the embedded Valkey has no replica: set SLUICE_REDIS_URL"
        )
    embedded = EmbeddedValkey(settings.data_dir)
    over = threading.Event()
    watching = threading.Thread(target=_watch, args=(embedded, over), name="watch-valkey", daemon=True)
    try:
        url = embedded.start()
        logger.info("embedded Valkey, process %s, data in %s", embedded.pid, settings.data_dir)
        watching.start()
        yield url
    finally:
        with handled(signal.SIG_IGN):  # a second Ctrl-C must not leave a server behind
            over.set()
            if watching.is_alive():
                watching.join()
            embedded.stop()


def _check_access(settings: Settings, url: str) -> None:
    """Check the store, and log who has access.

    Raise BadSetting if a public address has no key, and the operator has not asked for that.
    """
    copy = KeyFile(settings.data_dir)
    known, was_used = asyncio.run(_known_keys(settings, url, copy))
    has_no_key = known is not None and not known.keys
    if settings.access == "open":
        logger.warning("SLUICE_AUTH=open: every caller that reaches %s may do everything", settings.host)
    elif settings.access == "auto" and has_no_key and not was_used:
        logger.info("no key exists yet, so every caller on this machine has access; create one with sluice keys create")
    elif settings.auth is None and settings.access == "required" and has_no_key:
        raise BadSetting(
            f"{settings.host} can be reached from other machines, and no key exists yet: create one with `sluice keys "
            "create --roles admin --tenants '*'`, or allow access without keys with SLUICE_AUTH=open"
        )
    elif has_no_key:
        logger.warning("no caller has access%s: create a key with sluice keys create", " any more" if was_used else "")


async def _known_keys(settings: Settings, url: str, copy: KeyFile) -> tuple[KnownKeys | None, bool]:
    """Return the keys, and whether there were ever some; raise StoreUnusable if the store must not be used.

    The keys are None if the store does not answer: then the service waits for it and refuses requests. The workers
    put back what the store has lost: they also report it.
    """
    connection = connect(url, durability=settings.required_durability)
    try:
        await connection.ping()
        stored = await ApiKeyStore(connection).read()
    except (StoreUnavailable, StoreDamaged):
        return None, copy.exists()
    finally:
        await connection.aclose()
    known = merge(copied_for(stored, copy.read()), stored, now_milliseconds()).known
    return known, copy.exists() or bool(known.keys or known.revoked or known.identity)


@contextmanager
def _worker_folder(settings: Settings) -> Iterator[None]:
    """Make the folder that several workers share."""
    if settings.workers == 1:
        yield
        return
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) + ROOM_FOR_NAMES > LONGEST_SOCKET_PATH:
        base = "/tmp"  # noqa: S108 - the folder inside is private
    with tempfile.TemporaryDirectory(prefix="sluice-", dir=base, ignore_cleanup_errors=True) as folder:
        os.environ[FOLDER] = folder
        yield


def _watch(embedded: EmbeddedValkey, over: threading.Event) -> None:
    """Restart the embedded Valkey when it dies."""
    while not over.wait(WATCH_SECONDS):
        try:
            embedded.ensure_running()
        except Exception:
            logger.exception("the embedded Valkey cannot be restarted yet")
