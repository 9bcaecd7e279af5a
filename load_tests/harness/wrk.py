"""wrk, a client in C: for peak rates on a machine that also has to run the client."""

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
    """The throughput of connections that each send the next request as soon as they have their answer.

    wrk corrects its percentiles: a slow answer also stands for requests that were not sent meanwhile. Where some
    requests take longer by their nature, its p99 is not the p99 of answers.
    """

    rate: float  # answers per second
    p50: float  # milliseconds
    p99: float
    bad: int  # answers other than 2xx and 3xx, and broken connections
    cores: float  # that wrk itself kept busy


class _Output(msgspec.Struct, frozen=True):
    requests: int
    microseconds: int
    p50: float
    p99: float
    bad: int


def installed() -> bool:
    """Whether there is one."""
    return shutil.which("wrk") is not None


def wrk(port: int, requests: Iterable[bytes], connections: int, seconds: float) -> Peak:
    """Send whole requests in turn, in one thread, so that their order is kept."""
    with tempfile.NamedTemporaryFile(prefix="sluice-wrk-") as file:
        for request in requests:
            file.write(b"%d\n%b" % (len(request), request))
        file.flush()
        before = _processor_seconds()
        options = ["--threads=1", f"--connections={connections}", f"--duration={max(round(seconds), 1)}s"]
        done = subprocess.run(  # noqa: S603 - the client that was looked for
            [shutil.which("wrk") or "wrk", *options, f"--script={SCRIPT}", f"http://127.0.0.1:{port}", "--", file.name],
            capture_output=True,
            timeout=seconds + GRACE_SECONDS,
            start_new_session=True,  # Ctrl-C goes to the benchmark, which then kills it
            check=True,
        )
        found = msgspec.json.decode(done.stdout.splitlines()[-1], type=_Output)
        cores = (_processor_seconds() - before) * 1e6 / found.microseconds
    return Peak(found.requests * 1e6 / found.microseconds, found.p50 / 1e3, found.p99 / 1e3, found.bad, cores)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
