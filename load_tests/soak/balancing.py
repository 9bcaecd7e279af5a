"""The clients' side of a load balancer: whoever does not answer, or answers "not now", is passed over for the next."""

import asyncio
from dataclasses import dataclass
from itertools import count

from load_tests.soak.ledger import Ledger

TIMEOUT_SECONDS = 15.0
NOT_NOW = frozenset({429, 503})
LENGTH, CLOSE = b"content-length: ", b"connection: close"


class NoAnswer(Exception):
    """A service did not answer; the cause says how."""


class NobodyAnswers(Exception):
    """Every service was asked, and none could help."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    body: bytes


class Connection:
    """A connection that is kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.is_open = True

    async def ask(self, request: bytes) -> Reply:
        """One exchange."""
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        body = await self._reader.readexactly(int(head.partition(LENGTH)[2].partition(b"\r")[0]))
        if CLOSE in head:
            self.close()
        return Reply(int(head[9:12]), body)

    def close(self) -> None:
        """Do not wait for the other side."""
        self.is_open = False
        self._writer.close()


class Door:
    """The way to one service. It keeps its port over restarts, but no connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[Connection] = []

    async def ask(self, request: bytes) -> Reply:
        """Ask on a connection that nobody uses just now."""
        connection = None
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                connection = self._idle.pop() if self._idle else await self._connected()
                reply = await connection.ask(request)
        except (OSError, EOFError, ValueError) as error:
            if connection is not None:
                connection.close()
            self.close()
            raise NoAnswer from error
        if connection.is_open:
            self._idle.append(connection)
        return reply

    def close(self) -> None:
        """If one connection has ended, the others are most likely dead, too."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def _connected(self) -> Connection:
        return Connection(*await asyncio.open_connection("127.0.0.1", self._port))


class Balancer:
    """All services, asked in turns."""

    def __init__(self, ports: list[int], ledger: Ledger) -> None:
        self._doors = [Door(port) for port in ports]
        self._ledger = ledger
        self._turns = count()

    async def post(self, path: bytes, body: bytes) -> Reply:
        """The first answer of a service that is there and has time; NobodyAnswers if there is none."""
        request = b"POST %b HTTP/1.1\r\nhost: sluice\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
        first = next(self._turns)
        for turn in range(first, first + len(self._doors)):
            reply = await self._asked(self._doors[turn % len(self._doors)], request % (path, len(body), body))
            if reply is not None:
                self._ledger.requests += 1
                return reply
        raise NobodyAnswers

    def close(self) -> None:
        """Close all connections."""
        for door in self._doors:
            door.close()

    async def _asked(self, door: Door, request: bytes) -> Reply | None:
        try:
            reply = await door.ask(request)
        except NoAnswer as error:
            self._ledger.passed_on[type(error.__cause__).__name__] += 1
            return None
        if reply.status in NOT_NOW:
            self._ledger.passed_on[f"answered with {reply.status}"] += 1
            return None
        return reply
