"""Log lines: JSON for machines, text for a terminal. Facts of a request stand beside the message; inputs never do."""

import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import msgspec

OWN: Final = ("sluice", "app")
FACTS: Final = "facts"  # logger.info("...", extra={FACTS: {...}})


def configure(level: str, form: str, stream: TextIO | None = None) -> None:
    """Send all loggers to standard error; `auto` means text on a terminal and JSON elsewhere."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    as_text = form == "text" or (form == "auto" and stream.isatty())
    handler.setFormatter(TextLines() if as_text else JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("uvicorn").setLevel(max(logging.WARNING, root.level))


class JsonLines(logging.Formatter):
    """One JSON object per line: at, level, logger, message, the facts, and the exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, whatever the message contains."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "at": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        } | getattr(record, FACTS, {})
        if record.exc_info:
            line["raised"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


class TextLines(logging.Formatter):
    """Time, level, message, and the facts in brackets."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and the traceback below it if there is one."""
        facts = " ".join(f"{name}={value}" for name, value in getattr(record, FACTS, {}).items())
        logger = "" if record.name.startswith(OWN) else f"{record.name}: "
        at = self.formatTime(record, "%H:%M:%S")
        line = f"{at} {record.levelname.lower():<7} {logger}{record.getMessage()}" + (f"  [{facts}]" if facts else "")
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line
