"""Processes that are each held to a part of a core, by Linux's control groups.

Where client, store and workers share few cores, a second worker takes its core from the others, and nothing is learnt
of what it is worth. Held to a part of a core each, one worker and two are asked under the same conditions.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PERIOD_MICROSECONDS = 5000  # short: whoever has used up its part waits for the rest of it
OLD, NEW = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")  # versions 1 and 2


class NoShares(OSError):
    """Processes cannot be held back on this machine."""


def workers_of(pid: int) -> list[int]:
    """The processes of a service that answer: its children, or itself if it has but one worker."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return [int(child) for child in children if b"spawn_main" in _command(child)] or [pid]


@contextmanager
def held(pids: Sequence[int], cores: float) -> Iterator[None]:
    """Each of the processes gets at most this part of a core within the block; NoShares if that cannot be had."""
    with ExitStack() as stack:
        for pid in pids:
            stack.enter_context(_held(pid, cores))
        yield


@contextmanager
def _held(pid: int, cores: float) -> Iterator[None]:
    before = group_of(pid)
    group = (OLD if OLD.is_dir() else NEW) / f"sluice-{secrets.token_hex(6)}"
    try:
        group.mkdir()
    except OSError as error:
        raise NoShares(f"no control group can be made: {error}") from None
    try:
        try:
            _limit(group, round(cores * PERIOD_MICROSECONDS))
            _move(pid, group)
        except OSError as error:
            raise NoShares(f"the control group cannot be used: {error}") from None
        yield
    finally:
        with suppress(OSError):  # it may have ended
            _move(pid, before)
        with suppress(OSError):
            group.rmdir()


def group_of(pid: int) -> Path:
    """The control group that a process is in."""
    told = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()
    places = {name: place for _, names, place in (line.split(":", 2) for line in told) for name in names.split(",")}
    return OLD / places["cpu"].lstrip("/") if OLD.is_dir() else NEW / places[""].lstrip("/")


def _limit(group: Path, microseconds: int) -> None:
    if group.parent == OLD:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS), encoding="utf-8")
        (group / "cpu.cfs_quota_us").write_text(str(microseconds), encoding="utf-8")
    else:
        (group / "cpu.max").write_text(f"{microseconds} {PERIOD_MICROSECONDS}", encoding="utf-8")


def _move(pid: int, group: Path) -> None:
    (group / "cgroup.procs").write_text(str(pid), encoding="utf-8")


def _command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def may_hold() -> bool:
    """Whether this machine lets us."""
    try:
        with held([os.getpid()], 1.0):
            return True
    except NoShares:
        return False
