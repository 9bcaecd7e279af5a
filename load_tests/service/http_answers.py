"""Reading answers: so little of HTTP that the client has time to spare."""

LENGTH = b"content-length: "


class BadAnswer(Exception):
    """Something else than was to come."""


class Answers:
    """The answers on one connection, one at a time."""

    def __init__(self, mark: bytes, marks: int) -> None:
        self._mark = mark
        self._marks = marks
        self._held = b""

    def is_whole(self, data: bytes) -> bool:
        """Take what has arrived; whether an answer ends with it. BadAnswer if it is not what was asked for."""
        if self._held:
            data = self._held + data
        end = data.find(b"\r\n\r\n") + 4
        if end < 4 or len(data) < end + _length(data, end):
            self._held = data
            return False
        self._held = b""
        if data[9:12] != b"200" or data.count(self._mark, end) != self._marks:
            raise BadAnswer(data[:1000].decode(errors="replace"))
        return True


def _length(data: bytes, end: int) -> int:
    at = data.find(LENGTH, 0, end)
    if at < 0:
        raise BadAnswer(data[:1000].decode(errors="replace"))
    start = at + len(LENGTH)
    return int(data[start : data.index(b"\r", start)])
