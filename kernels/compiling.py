"""How kernels are compiled, and where the compiled code is kept.

Numba notices a change in a function's own file, but not in the functions of other files that it calls. So the cache
lies in a folder named after a hash of all kernel sources: any change compiles anew, and an old folder is never read
again. The folder may be one that cannot be written to, an image's say: Numba itself would refuse to read that.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
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


def cache_folder() -> Path:
    """Where the compiled kernels of exactly these sources are kept."""
    return _base() / f"kernels-{_fingerprint()}"


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


def _base() -> Path:
    """The operator's choice, else beside the sources, else (read-only installation) the user's or a private folder."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    for place in (SOURCES / "__pycache__", Path("~/.cache/sluice")):
        try:
            folder = place.expanduser()
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # RuntimeError: a user without a home
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="sluice-"))


numba.config.CACHE_DIR = str(cache_folder())
