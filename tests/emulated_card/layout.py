"""Offsets of the fields of card.h and execute.h that translated kernels use. execute.c asserts them."""

# Warp
MASK, AT, NEAREST, STATE, OTHER_AT, OTHER_MASK, ALIVE, BLOCK_INDEX = 0, 4, 8, 12, 16, 20, 24, 28
FRAME, SHARED, LOCAL, COUNTS, SHARED_SIZE = 40, 48, 56, 64, 72

# Launch
GRID, BLOCK, DYNAMIC_SHARED, PARAMETERS, LOW, HIGH, FLAGS = 8, 20, 32, 48, 56, 568, 1080

# What step() ends with
MOVED, PARTED, ENDED, AT_BARRIER, WAITING = range(5)

# Begin of a warp's frame: the three coordinates of its threads
THREAD_INDEX = (0, 128, 256)
REGISTERS = 384
