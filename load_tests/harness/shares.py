"""Processes that are each held to a part of a core, by Linux's control groups.

Where client, store and workers share few cores, a second worker takes its core from the others, and its worth cannot be
measured. With a part of a core for each, one worker and two run under the same conditions.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.processes import command_of, descendants

PERIOD_MICROSECONDS = 5000  # short: a process that has used up its part waits for the rest of it
OLD, NEW = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")  # versions 1 and 2


class NoShares(OSError):
    """Control groups cannot be used on this machine."""


def workers_of(pid: int) -> list[int]:
    """The worker processes of a service: its children, or itself if it has one worker."""
    return [child for child in descendants(pid) if "spawn_main" in command_of(child)] or [pid]


@contextmanager
def held(pids: Sequence[int], cores: float) -> Iterator[None]:
    """Hold each process to this part of a core within the block; NoShares if that is not possible."""
    with ExitStack() as stack:
        try:
            for pid in pids:
                _hold(pid, round(cores * PERIOD_MICROSECONDS), stack)
        except OSError as error:
            raise NoShares(f"no control group can be used: {error}") from None
        yield


def _hold(pid: int, microseconds: int, stack: ExitStack) -> None:
    before = group_of(pid)
    group = (OLD if OLD.is_dir() else NEW) / f"sluice-{secrets.token_hex(6)}"

    def move(place: Path) -> None:
        (place / "cgroup.procs").write_text(str(pid), encoding="utf-8")

    def release() -> None:
        with suppress(OSError):  # the process may have ended
            move(before)
        with suppress(OSError):
            group.rmdir()

    group.mkdir()
    stack.callback(release)
    if group.parent == OLD:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS), encoding="utf-8")
        (group / "cpu.cfs_quota_us").write_text(str(microseconds), encoding="utf-8")
    else:
        (group / "cpu.max").write_text(f"{microseconds} {PERIOD_MICROSECONDS}", encoding="utf-8")
    move(group)


def group_of(pid: int) -> Path:
    lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines()
    places = {name: place for _, names, place in (line.split(":", 2) for line in lines) for name in names.split(",")}
    return OLD / places["cpu"].lstrip("/") if OLD.is_dir() else NEW / places[""].lstrip("/")
