"""Log lines as JSON and as text."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from app.telemetry.logs import FACTS, configure


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root, uvicorn = logging.getLogger(), logging.getLogger("uvicorn")
    before = (list(root.handlers), root.level, uvicorn.level)
    yield
    root.handlers[:], root.level, uvicorn.level = before[0], before[1], before[2]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines(form: str, stream: io.StringIO) -> list[str]:
    configure("info", form, stream)
    log = logging.getLogger("sluice.requests")
    log.info("a %s\nin two lines", "message", extra={FACTS: {"request_id": "r-1", "milliseconds": 1.5}})
    log.debug("below the level")
    log.error("a failure", exc_info=ValueError("it broke"))
    return stream.getvalue().splitlines()


def test_json_is_an_object_on_each_line() -> None:
    first, second = map(json.loads, lines("json", io.StringIO()))
    assert first.pop("at").endswith("Z")
    assert first == {
        "level": "info",
        "logger": "sluice.requests",
        "message": "a message\nin two lines",
        "request_id": "r-1",
        "milliseconds": 1.5,
    }
    assert "ValueError: it broke" in second["raised"]


def test_text_has_the_facts_behind_the_message() -> None:
    assert lines("text", io.StringIO())[1].endswith("in two lines  [request_id=r-1 milliseconds=1.5]")


@pytest.mark.parametrize(("stream", "is_json"), [(io.StringIO(), True), (Terminal(), False)])
def test_auto_is_text_in_a_terminal_and_json_elsewhere(stream: io.StringIO, is_json: bool) -> None:
    assert lines("auto", stream)[0].startswith("{") == is_json


def test_other_libraries_are_named_and_uvicorn_only_warns() -> None:
    stream = io.StringIO()
    configure("info", "text", stream)
    logging.getLogger("uvicorn.error").info("started")
    logging.getLogger("asyncio").warning("slow")
    logging.getLogger("sluice").info("ours")
    assert [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()] == [
        "warning asyncio: slow",
        "info    ours",
    ]
