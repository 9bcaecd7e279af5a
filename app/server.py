"""The process: the embedded store if no other is given, the port, and one worker or several."""

import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from uvicorn.supervisors import Multiprocess

from app.learning.errors import BadSetting
from app.settings import Settings
from app.storage.embedded import EmbeddedValkey
from app.telemetry.logs import configure
from app.telemetry.siblings import FOLDER

logger = logging.getLogger("sluice")

WATCH_SECONDS = 0.5


def serve(settings: Settings) -> None:
    """Serve until a signal comes."""
    configure(settings.log_level, settings.log_format)
    with _listening(settings) as listening, _store(settings) as url, _meeting_place(settings):
        os.environ["SLUICE_REDIS_URL"] = url  # workers are processes of their own and read the environment
        os.environ.pop("SLUICE_REDIS_URL_FILE", None)
        config = uvicorn.Config(
            "app.main:create",
            factory=True,
            loop="uvloop",
            http="httptools",
            workers=settings.workers,
            access_log=False,
            log_config=None,
            lifespan="on",
            server_header=False,
            timeout_graceful_shutdown=max(1, int(settings.shutdown_seconds / 2)),
        )
        logger.info("listening on http://%s:%d", *listening.getsockname()[:2])
        if settings.workers > 1:
            Multiprocess(config, sockets=[listening]).run()
        else:
            _run_one(config, listening)


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
