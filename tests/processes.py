"""Processes in /proc."""

from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Return the children of a process, their children, and so on."""
    parents = {int(entry.name): parent_of(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def parent_of(process: Path) -> int:
    fields = _stat(process)
    return int(fields[1]) if fields else 0


def began(pid: int) -> str:
    """Return the start time of a running process, else "": a later process with the same id has another one."""
    fields = _stat(Path("/proc") / str(pid))
    return fields[19] if fields and fields[0] != "Z" else ""


def command_of(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def _stat(process: Path) -> list[str]:
    """Return the fields after the name, which may contain anything: state, parent, ..."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
