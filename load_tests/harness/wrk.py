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
    """The throughput of a closed loop. In wrk's percentiles a slow answer stands for those it has delayed, too."""

    rate: float  # answers per second
    p50: float  # milliseconds
    p99: float
    bad: int  # answers other than 2xx and 3xx, and broken connections
    seconds: float
    cores: float = 0.0  # that wrk itself kept busy


def installed() -> bool:
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
    found = msgspec.json.decode(done.stdout.splitlines()[-1], type=Peak)
    return msgspec.structs.replace(found, cores=(_processor_seconds() - before) / found.seconds)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
