"""Settings of the C library's heap for batch after batch of similar size.

By default it returns large arrays to the system, and then each page costs a fault when touched anew. It also has a heap
for each thread, and so keeps memory that others could use. mallopt(3); only glibc has these settings.
"""

import ctypes

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD, ARENA_MAX = -1, -2, -3, -8  # malloc.h
LARGEST = 32 << 20  # bytes; glibc keeps no larger array in the heap (HEAP_MAX_SIZE / 2)


def keep_freed() -> None:
    """Keep freed memory, in this process and its forks. Worth it where arrays are made and freed all the time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in (
            (ARENA_MAX, 1),
            (MMAP_THRESHOLD, LARGEST),
            (TRIM_THRESHOLD, 1 << 30),
            (TOP_PAD, 2 * LARGEST),
        ):
            mallopt(parameter, value)
