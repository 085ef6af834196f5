"""Free what Numba holds of a card: in the card's context, one thread at a time, and nothing after `keep`.

Numba lists device and pinned memory, streams and events that are no longer used. When a list has grown long, the thread
that adds to it frees everything in it; the rest is freed when the process ends. Often no context is current then, and
the driver refuses. Nor are these lists thread-safe.
"""

from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any

from readwarp.device import failure
from readwarp.device.card_array import CardArray
from readwarp.device.cuda_jit import cuda

_lock = RLock()
_lists: dict[int, tuple[Any, ...]] = {}  # Numba's lists, by device
_is_kept = False


def prepare(device: int) -> None:
    """Make Numba free this device's memory in this way; it must be the calling thread's current device."""
    if device in _lists:
        return
    with _lock:
        context = cuda.current_context()
        lists = context.memory_manager.deallocations, context.deallocations
        for each in lists if device not in _lists else ():
            each.clear = _in_context(context, each.clear)
        _lists[device] = lists


def _in_context(context: Any, clear: Callable[[], None]) -> Callable[[], None]:
    def clear_in_context() -> None:
        if _is_kept:
            return
        with _lock:
            context.push()
            try:
                clear()
            finally:
                context.pop()

    return clear_in_context


def free(device: int, arrays: Iterable[CardArray]) -> None:
    """Free these arrays, even if something still holds them (an error's frames do), and everything Numba has listed.

    Errors of a card that has failed before are ignored: the reason is known by then.
    """
    for array in arrays:
        if not array.size:  # it has no memory
            continue
        owner = array.owner.gpu_data._mem
        owner.refct += 1  # never 0 again, so that it is not freed twice
        with failure.drop_errors():
            owner.free()
    for unused in _lists.get(device, ()):
        left = -1
        while len(unused) not in (0, left):  # an entry that the driver refuses leaves the list and ends the round
            left = len(unused)
            with failure.drop_errors():
                unused.clear()


def keep() -> None:
    """Free nothing from here on: the process is ending, and threads that nobody waits for may still use it."""
    global _is_kept
    _is_kept = True
