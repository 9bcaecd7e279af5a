"""The machine of a benchmark, without names that identify its owner."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def description(packages: tuple[str, ...]) -> list[str]:
    """Processor, memory and versions, a line each."""
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"Processor: {_cpu_field('model name')}, {os.cpu_count()} cores, {_cpu_field('cache size')} cache per core",
        f"Memory: {memory:.0f} GiB; transparent huge pages: {_huge_pages()}",
        f"Linux on {platform.machine()}, Python {platform.python_version()}, {versions}",
    ]


def load_average() -> float:
    """The load average of the last minute; above 1, other processes are busy, too."""
    return os.getloadavg()[0]


def _cpu_field(name: str) -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        field, _, value = line.partition(":")
        if field.strip() == name:
            return value.strip()
    return "unknown"


def _huge_pages() -> str:
    if not HUGE_PAGES.exists():
        return "unknown"
    return HUGE_PAGES.read_text(encoding="utf-8").partition("[")[2].partition("]")[0]
