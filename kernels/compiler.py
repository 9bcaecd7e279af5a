"""How kernels are compiled, and where the compiled code is kept.

Numba notices a change in a function's own file, but not in functions of other files that it calls. So the cache is a
folder named after a hash of all kernel sources: any change compiles again, and an old folder is never read. The folder
may be read-only, as in a container image; Numba's own cache refuses such a folder.

Compiled code is stored as pickles, and loading a pickle runs code. So a folder that other users can write to is not
used.
"""

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator

Function = TypeVar("Function", bound=Callable[..., object])

SOURCES = Path(__file__).parent


def kernel(function: Function) -> Function:
    """Compile on the first call, cache on disk, run without the GIL; never fastmath: replay must be bit-identical."""
    return _cached(function, njit(nogil=True, error_model="numpy"))


def kernel_with_gil(function: Function) -> Function:
    """As `kernel`, but keep the GIL: for functions that call CPython."""
    return _cached(function, njit(error_model="numpy"))


def inlined(function: Function) -> Function:
    """Compile into the kernels that call it: passing a few arrays would cost as much as computing a few features.

    It is not cached on disk by itself, which would only make a start slower.
    """
    return cast("Function", njit(nogil=True, error_model="numpy", forceinline=True)(function))


def subroutine(function: Function) -> Function:
    """As `inlined_no_refcount`, for long functions with many callers: LLVM decides whether to inline them."""
    return cast("Function", njit(nogil=True, error_model="numpy", _nrt=False)(function))


def inlined_no_refcount(function: Function) -> Function:
    """As `inlined`, without counting references to arrays: for functions that allocate nothing.

    Counting costs some 5 ns for each array and call: it was 120 of the 730 ns of learning 100 features.
    """
    return cast("Function", njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function))


def named(name: str) -> Callable[[Function], Function]:
    """Give a function that is defined inside another one a name of its own.

    Such functions share a file and a line, and compiled code is found by name, on disk and among the symbols of a
    process. Without this, the code of one algorithm could be run for another.
    """

    def decorate(function: Function) -> Function:
        function.__qualname__ = f"{name}.{function.__name__}"
        return function

    return decorate


def cache_folder() -> Path:
    """Return where the compiled code of exactly these sources is cached.

    That is in NUMBA_CACHE_DIR if set, else beside the sources, else (read-only installation) in the user's cache folder
    or a private temporary one.
    """
    name = f"kernels-{_fingerprint()}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        folder = Path(chosen) / name
        if not _is_safe(folder):
            raise PermissionError(f"NUMBA_CACHE_DIR: others can write to {folder}, so its code is not safe to run")
        return folder
    return next(_places(name), None) or Path(tempfile.mkdtemp(prefix="sluice-")) / name


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc]  # Numba is hardly typed
    """Use the folder even if it is read-only."""

    def ensure_cache_path(self) -> None:
        with suppress(OSError):
            super().ensure_cache_path()


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]  # Numba is hardly typed
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):  # type: ignore[misc]  # Numba is hardly typed
    """Read from the folder; what is missing and cannot be written is compiled for this process only."""

    _impl_class = _Implementation

    def _index_key(self, signature: object, codegen: Any) -> tuple[object, ...]:  # noqa: ANN401 - Numba is hardly typed
        """Identify the function by name: a closure's pickle, which Numba would use, differs between processes."""
        return signature, codegen.magic_tuple(), self._py_func.__qualname__

    def save_overload(self, signature: object, compiled: object) -> None:
        with suppress(OSError):
            super().save_overload(signature, compiled)


def _cached(function: Function, compiler: Callable[[Function], Any]) -> Function:
    """As Numba's own `cache=True`, with the cache above."""
    compiled = compiler(function)
    compiled._cache = _Cache(function)  # noqa: SLF001 - Numba has no public way to set it
    return cast("Function", compiled)


def _fingerprint() -> str:
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for source in sorted([*SOURCES.glob("*.py"), *SOURCES.glob("*/*.py")]):
        digest.update(source.relative_to(SOURCES).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


def _places(name: str) -> Iterator[Path]:
    for place in (SOURCES / "__pycache__", Path("~/.cache/sluice")):
        try:
            folder = place.expanduser()
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # RuntimeError: a user without a home
            continue
        if os.access(folder, os.W_OK) and _is_safe(folder / name):
            yield folder / name


def _is_safe(folder: Path) -> bool:
    """Tell whether other users can neither write to a folder nor replace it; create it if possible."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if folder.parent.exists() and not _is_closed(folder.parent.stat(), sticky_is_enough=True):
        return False
    return not os.path.lexists(folder) or _is_closed(folder.lstat())


def _is_closed(status: os.stat_result, *, sticky_is_enough: bool = False) -> bool:
    """Tell whether only users who could also change the sources can write there."""
    is_open = status.st_mode & stat.S_IWOTH and not (sticky_is_enough and status.st_mode & stat.S_ISVTX)
    return status.st_uid in {0, os.geteuid(), SOURCES.stat().st_uid} and not is_open


numba.config.CACHE_DIR = str(cache_folder())
