"""Resident memory of this process."""

from pathlib import Path

STATUS = Path("/proc/self/status")
PEAK_RESET = Path("/proc/self/clear_refs")


def reset_peak() -> None:
    PEAK_RESET.write_text("5", encoding="ascii")


def resident_bytes(name: str) -> int:
    """Return VmRSS, which is now, or VmHWM, the peak; ru_maxrss would include the process that started this one."""
    line = next(line for line in STATUS.read_text(encoding="utf-8").splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024
