"""Keeping tenants out of the way of Python's collector.

The collector looks for cycles by going through everything that could be part of one, and nobody is served meanwhile:
the objects of 100,000 tenants took it more than a second. A tenant has no cycles, so it is gone with its last
reference, and need not be looked through.
"""

import ctypes
import gc
from collections.abc import Mapping

from app.tenants.tenant import Tenant

# Only these, and no memoryviews, for example: what is not on the collector's lists any more must end well, too.
CONTAINERS = (dict, list, tuple)
OURS = ("app.learning.", "kernels.")  # modules of the classes that a tenant's state is made of

_untrack = ctypes.pythonapi.PyObject_GC_UnTrack
_untrack.argtypes, _untrack.restype = [ctypes.py_object], None


def spare(tenant: Tenant) -> None:
    """Let the collector look through nothing that this tenant alone has."""
    parts: list[object] = [tenant.lock, tenant.watch, tenant.state]
    for part in (tenant, *parts):
        _untrack(part)
    while parts:
        parts = [each for each in gc.get_referents(*parts) if gc.is_tracked(each) and _is_ours(each)]
        for part in parts:
            _untrack(part)


def spare_all_in(tenants: Mapping[str, object]) -> None:
    """The same for a dict that has all tenants. Whatever is put into it puts it on the lists again."""
    _untrack(tenants)


def _is_ours(part: object) -> bool:
    kind = type(part)
    return kind in CONTAINERS or kind.__module__.startswith(OURS)
