"""A TCP proxy with faults, between a service and its store, or a replica and its primary."""

import asyncio
import socket
import struct
from contextlib import suppress

CHUNK = 65_536
RESET = struct.pack("ii", 1, 0)  # close() then sends RST at once, and drops what was not sent


class Proxy:
    """Passes bytes on to a port that can be changed. Its own port stays."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.delay_seconds = 0.0  # of each piece, in each direction
        self.cut_requests = 0  # this many pieces are passed on by half, then the connection is reset
        self.cut_replies = 0
        self.is_open = True  # False: new connections are refused by a reset
        self._links: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server:
            self._server.close()
        self.reset()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reset(self) -> int:
        """Break every connection with RST on both sides; return their number."""
        links = list(self._links)
        for link in links:
            self._break(link)
        return len(links)

    def shut(self) -> None:
        """Break every connection, and refuse new ones."""
        self.is_open = False
        self.reset()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            if not self.is_open:
                raise ConnectionRefusedError
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            _reset(writer)
            return
        link = (writer, up_writer)
        self._links.add(link)
        try:  # asyncio's server asks a connection's task for its exception, which a cancelled one does not have
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, up_writer, link, requests=True))
                both.create_task(self._pass_on(up_reader, writer, link, requests=False))
        except asyncio.CancelledError:
            pass
        finally:
            self._break(link)

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        link: tuple[asyncio.StreamWriter, asyncio.StreamWriter],
        *,
        requests: bool,
    ) -> None:
        with suppress(OSError):
            while piece := await reader.read(CHUNK):
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                if self._takes_cut(requests=requests):
                    writer.write(piece[: len(piece) // 2])
                    await writer.drain()
                    await asyncio.sleep(0)  # let the half leave before the reset
                    break
                writer.write(piece)
                await writer.drain()
        self._break(link)

    def _takes_cut(self, *, requests: bool) -> bool:
        if requests and self.cut_requests:
            self.cut_requests -= 1
            return True
        if not requests and self.cut_replies:
            self.cut_replies -= 1
            return True
        return False

    def _break(self, link: tuple[asyncio.StreamWriter, asyncio.StreamWriter]) -> None:
        self._links.discard(link)
        for writer in link:
            _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    if (connection := writer.get_extra_info("socket")) is not None:
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()
