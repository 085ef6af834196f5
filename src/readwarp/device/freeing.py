"""What Numba frees of a card: in that card's context, by one thread at a time, and nothing once `keep` was called.

Numba lists device and pinned memory, streams and events that are out of use, and gives a list back when it has grown,
in whichever thread the last one is dropped, or at the end of the process. Often no context is current there, and the
driver refuses. Its lists are not made for several threads either.
"""

from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any

from readwarp.device import failure
from readwarp.device.jit import cuda

_lock = RLock()
_lists: dict[int, tuple[Any, ...]] = {}  # of each device, as Numba has them
_is_kept = False


def prepare(device: int) -> None:
    """Have all that Numba frees of this device freed so; the device is the calling thread's current one."""
    if device in _lists:
        return
    with _lock:
        context = cuda.current_context()
        lists = context.memory_manager.deallocations, context.deallocations
        for each in lists if device not in _lists else ():
            each.clear = _in_context(context, each.clear)
        _lists[device] = lists


def _in_context(context: Any, clear: Callable[[], None]) -> Callable[[], None]:
    def cleared() -> None:
        if _is_kept:
            return
        with _lock:
            context.push()
            try:
                clear()
            finally:
                context.pop()

    return cleared


def free(device: int, arrays: Iterable[Any]) -> None:
    """Give back these arrays, whoever still holds them or views of them (the frames of an error do), and all unused.

    What a card that has failed says to that is dropped: why is known by then.
    """
    for array in arrays:
        if not array.size:  # nothing was taken for it
            continue
        owner = array.gpu_data._mem
        owner.refct += 1  # never 0: who lets go last does not free it again
        with failure.dropped():
            owner.free()
    from numba.cuda.dispatcher import CUDADispatcher

    CUDADispatcher.configure.cache_clear()  # holds the streams of the last launches
    for unused in _lists.get(device, ()):
        left = -1
        while len(unused) not in (0, left):  # one that is refused is off the list, and ends the round
            left = len(unused)
            with failure.dropped():
                unused.clear()


def keep() -> None:
    """From here on nothing is freed: threads that cannot be waited for may use it, and the process ends."""
    global _is_kept
    _is_kept = True
