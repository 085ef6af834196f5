"""Frees what Numba has of a card: in the card's context, by one thread at a time, and nothing once `keep` was called.

Numba lists device and pinned memory, streams and events that are out of use. It frees a list that has grown, in the
thread that drops the last entry, or at the end of the process. Often no context is current there, and the driver
refuses. Nor are its lists made for several threads.
"""

from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any

from readwarp.device import failure
from readwarp.device.jit import cuda

_lock = RLock()
_lists: dict[int, tuple[Any, ...]] = {}  # Numba's, of each device
_is_kept = False


def prepare(device: int) -> None:
    """Have Numba free all of this device like this; it must be the calling thread's current device."""
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


def free(device: int, arrays: Iterable[Any]) -> None:
    """Free these arrays, whoever still holds them or views of them (the frames of an error do), and all unused ones.

    Errors of a card that has failed before are dropped: the reason is known by then.
    """
    for array in arrays:
        if not array.size:  # nothing was taken for it
            continue
        owner = array.gpu_data._mem
        owner.refct += 1  # never 0 again, so that it is not freed twice
        with failure.drop_errors():
            owner.free()
    from numba.cuda.dispatcher import CUDADispatcher

    CUDADispatcher.configure.cache_clear()  # holds the streams of the last launches
    for unused in _lists.get(device, ()):
        left = -1
        while len(unused) not in (0, left):  # an entry that is refused leaves the list, and ends the round
            left = len(unused)
            with failure.drop_errors():
                unused.clear()


def keep() -> None:
    """Free nothing from here on: the process ends, and threads that cannot be waited for may use it."""
    global _is_kept
    _is_kept = True
