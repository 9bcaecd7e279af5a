"""The modules and functions of `app` that one request passes through: `python -m tests.request_path`.

A real service answers a real request while every call of a function of `app` is recorded. Background tasks are left
out: a call counts if it happens in the context of the connection, or of a task that the request started.
"""

import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

import httpx

from tests.services import Service, wait_until

Calls = dict[str, list[str]]  # functions by module, in the order of their first calls
TENANT = "acme"
FEATURES = {"token:free": 1, "len": 0.4}
OUTPUT = "REQUEST_PATH_OUTPUT"
READ_FROM_STORE = "app.storage.predictions"


def trace_requests() -> dict[str, Calls]:
    """The path of one /predict, and of one /feedback by prediction_id."""
    with tempfile.TemporaryDirectory() as folder, traced_service(Path(folder)) as service:
        for _ in range(3):  # so that the tenant is in memory and everything is loaded
            _feedback(service, _predict(service))
        found = _trace_pair(service)
        while READ_FROM_STORE in found["POST /feedback"]:  # a slow machine: the prediction had left memory already
            found = _trace_pair(service)
    return found


def _trace_pair(service: Service) -> dict[str, Calls]:
    with recording(service) as predict:
        prediction = _predict(service)
    with recording(service) as feedback:
        _feedback(service, prediction)
    return {"POST /predict": predict, "POST /feedback": feedback}


def _predict(service: Service) -> str:
    answer = service.predict(TENANT, features=FEATURES)
    assert answer.status_code == httpx.codes.OK, answer.text
    return str(answer.json()["prediction_id"])


def _feedback(service: Service, prediction_id: str) -> None:
    answer = service.feedback(TENANT, prediction_id=prediction_id, label=1)
    assert answer.status_code == httpx.codes.OK, answer.text


class TracedService(Service):
    """`sluice serve` with the recorder of this module."""

    command = (sys.executable, "-m", "tests.request_path", "serve")


@contextmanager
def traced_service(folder: Path) -> Iterator[Service]:
    """A running service that records calls between SIGUSR1 and SIGUSR2."""
    os.environ[OUTPUT] = str(folder / "calls.json")
    try:
        with TracedService(folder) as service:
            yield service.start()
    finally:
        del os.environ[OUTPUT]


@contextmanager
def recording(service: Service) -> Iterator[Calls]:
    """What the requests of the block pass through; filled in when the block ends."""
    output, found = service.folder / "calls.json", Calls()
    output.unlink(missing_ok=True)
    os.kill(service.pid, signal.SIGUSR1)
    service.request("GET", "/livez")  # the server's loop runs the signal's handler before it answers
    yield found
    service.request("GET", "/livez")  # the request is now over, also what follows its answer
    os.kill(service.pid, signal.SIGUSR2)
    service.request("GET", "/livez")
    wait_until(output.exists, "the recorder wrote nothing")
    found |= json.loads(output.read_text())


def serve() -> None:
    """Serve as `sluice serve` does, and record calls when a signal asks for it."""
    recorder = Recorder()
    signal.signal(signal.SIGUSR1, lambda *_: recorder.start())
    signal.signal(signal.SIGUSR2, lambda *_: recorder.stop(Path(os.environ[OUTPUT])))
    sys.argv = ["sluice", "serve"]
    from app.cli import main  # noqa: PLC0415 - after the signals, so that none comes too early

    sys.exit(main())


class Recorder:
    """Records calls of functions of `app` on the path of a POST."""

    def __init__(self) -> None:
        self.calls: Calls = {}
        self._is_on_path: ContextVar[bool] = ContextVar("is_on_path", default=False)

    def start(self) -> None:
        self.calls = {}
        sys.setprofile(self._record)

    def stop(self, output: Path) -> None:
        sys.setprofile(None)
        aside = output.with_suffix(".new")
        aside.write_text(json.dumps(self.calls))
        aside.rename(output)

    def _record(self, frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith("app."):
            return
        if frame.f_code.co_name == "data_received":  # the context of a connection; tasks started in it copy it
            self._is_on_path.set(frame.f_locals.get("data", b"")[:5] == b"POST ")
        if self._is_on_path.get():
            functions = self.calls.setdefault(module, [])
            if frame.f_code.co_qualname not in functions:
                functions.append(frame.f_code.co_qualname)


def show(paths: dict[str, Calls]) -> Iterator[str]:
    """The paths as text."""
    for request, modules in paths.items():
        yield f"{request}: {len(modules)} modules, {sum(map(len, modules.values()))} functions"
        for module, functions in modules.items():
            yield f"    {module}: {', '.join(functions)}"
        yield ""


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        print("\n".join(show(trace_requests())))  # noqa: T201 - a command answers by printing
