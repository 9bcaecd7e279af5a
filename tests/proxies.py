"""A TCP proxy in front of a real server that breaks connections on purpose.

with Proxy(server.port) as proxy:
    service = Service(folder, redis_url=proxy.url)
    proxy.choose = lambda: Fault.RESET  # asked for every piece of an answer; None passes it on
    proxy.reset_all()  # all connections, idle ones too, now
"""

import enum
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

PIECE = 1 << 16
ABORT = struct.pack("ii", 1, 0)  # SO_LINGER: on, 0 seconds; a close then sends RST
GARBAGE = b"HTTP/1.1 502 Bad Gateway\r\n\r\nthis is no answer of Redis\r\n"
ACCEPT_SECONDS = 0.1


class Fault(enum.Enum):
    """What happens to a piece of an answer, and to its connection."""

    RESET = "RST instead of it"
    RESET_HALFWAY = "its first half, then RST"
    CLOSE = "FIN instead of it"
    CLOSE_HALFWAY = "its first half, then FIN"
    GARBAGE = "other bytes instead of it; the connection stays open"
    DELAY = "it arrives late"
    SILENCE = "it never arrives; the connection stays open"


HALVED = (Fault.RESET_HALFWAY, Fault.CLOSE_HALFWAY)


class Proxy:
    """Passes bytes on in both directions. `choose` says which piece of an answer meets which fault."""

    def __init__(self, upstream: int, *, delay_seconds: float = 0.2) -> None:
        self.choose: Callable[[], Fault | None] = lambda: None
        self.delay_seconds = delay_seconds
        self.counts: Counter[Fault] = Counter()  # the faults so far
        self._upstream = upstream
        self._lines: set[_Line] = set()
        self._guard = threading.Lock()
        self._is_open = True
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._listener.settimeout(ACCEPT_SECONDS)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def reset_all(self) -> int:
        """Reset every connection; return their number."""
        lines = self._taken()
        for line in lines:
            line.reset()
        return len(lines)

    def close_all(self) -> int:
        """Close every connection properly; return their number."""
        lines = self._taken()
        for line in lines:
            line.close()
        return len(lines)

    def close(self) -> None:
        self._is_open = False
        self._thread.join()
        self._listener.close()
        self.close_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _taken(self) -> "set[_Line]":
        with self._guard:
            lines, self._lines = self._lines, set()
        return lines

    def _accept(self) -> None:
        while self._is_open:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._upstream), timeout=5.0)
            except OSError:  # the server is down: so is this connection
                _reset(client)
                continue
            line = _Line(self, client, server)
            with self._guard:
                self._lines.add(line)
            line.start()

    def fault(self) -> Fault | None:
        fault = self.choose()
        if fault is not None:
            self.counts[fault] += 1
        return fault


class _Line:
    """One connection of a client, and its connection to the server."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        for each in (client, server):
            each.settimeout(None)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start(self) -> None:
        for work in (self._pass_requests, self._pass_answers):
            threading.Thread(target=work, daemon=True).start()

    def reset(self) -> None:
        _reset(self._client)
        _shut(self._server)

    def close(self) -> None:
        _shut(self._client)
        _shut(self._server)

    def _pass_requests(self) -> None:
        with suppress(OSError):
            while piece := self._client.recv(PIECE):
                self._server.sendall(piece)
        self.close()

    def _pass_answers(self) -> None:
        with suppress(OSError):
            while piece := self._server.recv(PIECE):
                if not self._answered(piece, self._proxy.fault()):
                    return
        self.close()

    def _answered(self, piece: bytes, fault: Fault | None) -> bool:
        """Pass on a piece with its fault. False if the connection is over."""
        if fault is Fault.SILENCE:
            return True
        if fault is Fault.DELAY:
            time.sleep(self._proxy.delay_seconds)
        if fault in HALVED:
            self._client.sendall(piece[: len(piece) // 2])
            time.sleep(0.01)  # the client reads the half before what follows
        if fault is Fault.GARBAGE:
            self._client.sendall(GARBAGE)
        elif fault in {Fault.RESET, Fault.RESET_HALFWAY}:
            self.reset()
            return False
        elif fault in {Fault.CLOSE, Fault.CLOSE_HALFWAY}:
            self.close()
            return False
        else:
            self._client.sendall(piece)
        return True


def some_of(faults: Sequence[Fault], share: float, seed: int) -> Callable[[], Fault | None]:
    """A choice for `Proxy.choose`: a share of all pieces meets one of these faults, in an order fixed by the seed."""
    chance = random.Random(seed)  # noqa: S311 - to repeat a run

    def choose() -> Fault | None:
        return chance.choice(faults) if chance.random() < share else None

    return choose


def _reset(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
        connection.shutdown(socket.SHUT_RD)  # wakes up the thread that reads from it
    connection.close()


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
