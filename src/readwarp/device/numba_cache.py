"""Where numba-cuda, whose own cache this is, keeps what it compiles.

It unpickles what it finds, so it is given nothing but the user's own folder, of which nobody else has written a part.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import UserProvidedCacheLocator

from readwarp.device.cache_folders import NAME
from readwarp.device.kernel_cache import folder_of, key_of, made, package_folder
from readwarp.device.levels import current_level
from readwarp.device.trust import remove_untrusted


class KernelLocator(UserProvidedCacheLocator):
    """Tells numba-cuda where the kernels of this package are, and whether they are current."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._py_file, self._lineno, self._module = py_file, py_func.__code__.co_firstlineno, py_func.__module__
        self._cache_path = str(_cleaned(made(folder_of(py_func.__module__, current_level()))))

    def get_source_stamp(self) -> str:
        return key_of(self._module, current_level())

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Any:
        is_ours = py_func.__module__.startswith(f"{NAME}.")
        return super().from_function(py_func, py_file) if is_ours else None  # type: ignore[no-untyped-call]


@cache
def install_for_cards() -> None:
    """From now on, numba-cuda keeps kernels of the package in this way, and all others below `package_folder`."""
    from numba.cuda.core.caching import CacheImpl

    numba.config.CACHE_DIR = str(_cleaned(package_folder()))  # type: ignore[attr-defined]
    CacheImpl._locator_classes.insert(0, KernelLocator)


@cache
def _cleaned(folder: Path) -> Path:
    """It was perhaps open to others for a while."""
    remove_untrusted(folder)
    return folder
