"""How the C library keeps memory that is freed, for batch after batch of about one size.

By default it gives large arrays back to the system, and a page costs a fault each time it is touched anew. It has a
heap for each thread, too, and so keeps what the others could use. mallopt(3); other C libraries than glibc have none.
"""

import ctypes

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD, ARENA_MAX = -1, -2, -3, -8  # malloc.h
LARGEST = 32 << 20  # bytes; glibc lets no larger array stay in the heap (HEAP_MAX_SIZE / 2)


def keep_freed() -> None:
    """From now on, in this process and those forked from it. Worth it where arrays are made and freed all the time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in (
            (ARENA_MAX, 1),
            (MMAP_THRESHOLD, LARGEST),
            (TRIM_THRESHOLD, 1 << 30),
            (TOP_PAD, 2 * LARGEST),
        ):
            mallopt(parameter, value)
