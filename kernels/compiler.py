"""How kernels are compiled, and where the compiled code is kept.

Numba notices a change in a function's own file, but not in the functions of other files that it calls. So the cache
lies in a folder named after a hash of all kernel sources: any change compiles anew, and an old folder is never read
again. The folder may be one that cannot be written to, an image's say: Numba itself would refuse to read that.

To read compiled code is to run it (it is kept as a pickle): a folder into which others could put some is not used.
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
    """Compile on first call, keep on disk, run without the GIL; never fastmath: replay must be bit-identical."""
    return _kept(function, njit(nogil=True, error_model="numpy"))


def kernel_with_gil(function: Function) -> Function:
    """As `kernel`, for what talks to the interpreter."""
    return _kept(function, njit(error_model="numpy"))


def part(function: Function) -> Function:
    """Compile into the kernels that call it: a call with a handful of arrays would cost as much as a few features.

    Nothing is kept on disk, which would only lengthen a start.
    """
    return cast("Function", njit(nogil=True, error_model="numpy", forceinline=True)(function))


def whole(function: Function) -> Function:
    """Like `part`, for functions that are long or called from many places: LLVM decides what to do with them."""
    return cast("Function", njit(nogil=True, error_model="numpy", _nrt=False)(function))


def inner(function: Function) -> Function:
    """Like `part`, for functions that allocate nothing: they count no references to their arrays.

    Counting costs some 5 ns for each array and call: it was 120 of the 730 ns of learning 100 features.
    """
    return cast("Function", njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)(function))


def named(name: str) -> Callable[[Function], Function]:
    """Name a function that another function defines, so that it differs from those defined for other names.

    They share a file and a line. Compiled code is found by name, on disk and among the symbols of a process: without
    names of their own, one would be run for another.
    """

    def decorate(function: Function) -> Function:
        function.__qualname__ = f"{name}.{function.__name__}"
        return function

    return decorate


def cache_folder() -> Path:
    """Where the compiled kernels of exactly these sources are kept.

    The operator's choice, else beside the sources, else (read-only installation) the user's or a private folder.
    """
    name = f"kernels-{_fingerprint()}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        folder = Path(chosen) / name
        if not _is_safe(folder):
            raise PermissionError(f"NUMBA_CACHE_DIR: others can write to {folder}, and what is there would be run")
        return folder
    return next(_places(name), None) or Path(tempfile.mkdtemp(prefix="sluice-")) / name


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc]  # Numba is hardly typed
    """The folder, whether or not it can be written to."""

    def ensure_cache_path(self) -> None:
        with suppress(OSError):
            super().ensure_cache_path()


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]  # Numba is hardly typed
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):  # type: ignore[misc]  # Numba is hardly typed
    """What is not in the folder, and cannot be put there, is compiled for this process alone."""

    _impl_class = _Implementation

    def _index_key(self, signature: object, codegen: Any) -> tuple[object, ...]:  # noqa: ANN401 - Numba is hardly typed
        """Identify the function by its name. Numba pickles what it refers to, which differs between processes."""
        return signature, codegen.magic_tuple(), self._py_func.__qualname__

    def save_overload(self, signature: object, compiled: object) -> None:
        with suppress(OSError):
            super().save_overload(signature, compiled)


def _kept(function: Function, compiler: Callable[[Function], Any]) -> Function:
    """As Numba's own `cache=True`, with a cache of ours."""
    compiled = compiler(function)
    compiled._cache = _Cache(function)  # noqa: SLF001 - there is no other way to give it one
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
    """Whether others can neither write to a folder nor put another in its place; it is made if it can be."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if folder.parent.exists() and not _is_closed(folder.parent.stat(), sticky_is_enough=True):
        return False
    return not os.path.lexists(folder) or _is_closed(folder.lstat())


def _is_closed(status: os.stat_result, *, sticky_is_enough: bool = False) -> bool:
    """Whether only those can write there who could change the sources as well."""
    is_open = status.st_mode & stat.S_IWOTH and not (sticky_is_enough and status.st_mode & stat.S_ISVTX)
    return status.st_uid in {0, os.geteuid(), SOURCES.stat().st_uid} and not is_open


numba.config.CACHE_DIR = str(cache_folder())
