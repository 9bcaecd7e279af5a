"""The machine of a benchmark, without names that identify its owner."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class Machine:
    """Hardware and versions, and the load average before and after a run."""

    def __init__(self, *packages: str) -> None:
        self._packages, self._before = packages, os.getloadavg()[0]

    def facts(self, own: str, *more: str) -> list[str]:
        """Describe the machine after the run; `own` is the load that the benchmark itself makes."""
        load = f"{self._before:.1f} before, {os.getloadavg()[0]:.1f} after (the benchmark itself makes {own})"
        return [*description(self._packages), *more, f"Load average: {load}"]


def description(packages: tuple[str, ...]) -> list[str]:
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    huge_pages = HUGE_PAGES.read_text(encoding="utf-8") if HUGE_PAGES.exists() else "[unknown]"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"Processor: {_cpu_field('model name')}, {os.cpu_count()} cores, {_cpu_field('cache size')} cache per core",
        f"Memory: {memory:.0f} GiB; transparent huge pages: {huge_pages.partition('[')[2].partition(']')[0]}",
        f"Linux on {platform.machine()}, Python {platform.python_version()}, {versions}",
    ]


def _cpu_field(name: str) -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        field, _, value = line.partition(":")
        if field.strip() == name:
            return value.strip()
    return "unknown"
