"""Cache files of machine code for cards: one per function, closure, signature and kind of card.

numba-cuda's own cache numbers its files and looks the numbers up in an index. Of two processes that compile at once,
such as on two nodes with one home, both take the next number, and one finds the other's code under it. Our files are
named after everything that distinguishes their code, and state it, so processes read and write them without a lock.
"""

import pickle
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba_cuda
from numba.core.target_extension import target_override
from numba.cuda.core.caching import NullCache
from numba.cuda.dispatcher import _Kernel
from numba.cuda.serialize import dumps

from readwarp.device import kernel_cache
from readwarp.device.levels import current_level


class CardCache(NullCache):  # type: ignore[misc]
    """Compiled versions of one function, in numba-cuda's interface. Only the package's functions have any."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with target_override("cuda"):
            target_context.refresh()
            key = self._key(sig, target_context.codegen())
            for content in kernel_cache.contents(self._place(key)) if self._is_kept() else ():
                found, states = pickle.loads(content)
                if found == key:
                    return _Kernel._rebuild(**states)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._is_kept():
            key = self._key(sig, data.codegen)
            kernel_cache.keep_at(self._place(key), dumps((key, data._reduce_states())))

    def _is_kept(self) -> bool:
        return kernel_cache.is_current(self._function.__module__)

    def _key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        """List everything that the code depends on, besides the sources."""
        code = self._function.__code__
        closure = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        hashes = sha256(code.co_code).hexdigest(), sha256(dumps(closure)).hexdigest()
        return code.co_firstlineno, *hashes, signature, codegen.magic_tuple(), numba_cuda.__version__

    def _place(self, key: tuple[Any, ...]) -> Path:
        name = self._function.__qualname__.replace("<locals>.", "")
        folder = kernel_cache.folder_of(self._function.__module__, current_level())
        return folder / f"{name}-{kernel_cache.digest_of(map(repr, key))}.card"
