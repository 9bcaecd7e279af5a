"""wrk, a client in C: for peak rates on a machine that has to bear the client, too."""

import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

SCRIPT = Path(__file__).with_suffix(".lua")
GRACE_SECONDS = 30.0


class Peak(msgspec.Struct, frozen=True):
    """What a service answered at most, to connections that each ask again as soon as they have their answer.

    wrk corrects its percentiles: an answer that took long also stands for requests that were not sent meanwhile. Where
    some requests take longer by their nature, its p99 is no p99 of answers.
    """

    rate: float  # answers per second
    p50: float  # milliseconds
    p99: float
    bad: int  # answers other than 2xx and 3xx, and connections that broke
    cores: float  # that wrk itself kept busy


class _Told(msgspec.Struct, frozen=True):
    requests: int
    microseconds: int
    p50: float
    p99: float
    bad: int


def installed() -> bool:
    """Whether there is one."""
    return shutil.which("wrk") is not None


def wrk(port: int, requests: Iterable[bytes], connections: int, seconds: float) -> Peak:
    """Ask in turn what is given, whole requests as bytes, over so many connections."""
    with tempfile.NamedTemporaryFile(prefix="sluice-wrk-") as file:
        for request in requests:
            file.write(b"%d\n%b" % (len(request), request))
        file.flush()
        before = _processor_seconds()
        told = _told(port, file.name, connections, seconds)
        cores = (_processor_seconds() - before) * 1e6 / told.microseconds
    return Peak(told.requests * 1e6 / told.microseconds, told.p50 / 1e3, told.p99 / 1e3, told.bad, cores)


def _told(port: int, file: str, connections: int, seconds: float) -> _Told:
    """Of one thread, so that the order is that of the file."""
    done = subprocess.run(  # noqa: S603 - the client that was looked for
        [
            shutil.which("wrk") or "wrk",
            "--threads=1",
            f"--connections={connections}",
            f"--duration={max(round(seconds), 1)}s",
            f"--script={SCRIPT}",
            f"http://127.0.0.1:{port}",
            "--",
            file,
        ],
        capture_output=True,
        timeout=seconds + GRACE_SECONDS,
        start_new_session=True,  # a Ctrl-C is for the benchmark, which then kills it
        check=True,
    )
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=_Told)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
