"""Misbehaving clients on plain sockets."""

import select
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.services import Service

IN_TIME = 15.0  # seconds; generous, the machine may be busy


def connected(service: Service, data: bytes = b"") -> socket.socket:
    """Open a connection and send some bytes."""
    connection = socket.create_connection(("127.0.0.1", service.port), timeout=IN_TIME)
    connection.sendall(data)
    return connection


def everything(connection: socket.socket) -> bytes:
    """Read until the server closes the connection; TimeoutError if it does not."""
    received = bytearray()
    with suppress(ConnectionError):
        while piece := connection.recv(65_536):
            received += piece
    return bytes(received)


def pour(connection: socket.socket, data: bytes, at_most: int) -> int:
    """Send the same bytes until the server reads nothing for half a second; return how much was sent."""
    connection.settimeout(0.5)
    sent = 0
    with suppress(TimeoutError):
        while sent < at_most:
            sent += connection.send(data)
    return sent


def are_closed(connections: Sequence[socket.socket], seconds: float = IN_TIME) -> bool:
    """Whether the server closes all connections in time."""
    left = set(connections)
    deadline = time.monotonic() + seconds
    while left and time.monotonic() < deadline:
        readable, _, _ = select.select(list(left), [], [], 0.1)
        left -= {connection for connection in readable if _is_over(connection)}
    return not left


def _is_over(connection: socket.socket) -> bool:
    try:
        return connection.recv(65_536) == b""
    except ConnectionError:
        return True


def rss_bytes(pid: int) -> int:
    """Return the resident memory of a process."""
    status = (Path("/proc") / str(pid) / "status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))
