"""The progress of a state that is rebuilt without some labels."""

import msgspec


class Progress(msgspec.Struct):
    """How far the rebuilding of a state has come, in versions of the log."""

    start: int = 0
    now: int = 0
    end: int = 0

    @property
    def share(self) -> float:
        """The share that is done. Labels that came meanwhile are not in `end`."""
        return min((self.now - self.start) / (self.end - self.start), 1.0) if self.end > self.start else 0.0
