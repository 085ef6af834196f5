"""CIGARs as BAM codes them, length << 4 | operation (SAM specification, section 4.2)."""

import numpy as np

from readwarp.device.jit import scalar

LETTERS = "MIDNSHP=X"
LETTER_BYTES = np.frombuffer(LETTERS.encode(), np.uint8)
MATCH, INSERTION, DELETION, SKIP, SOFT_CLIP, HARD_CLIP, PADDING, EQUAL, UNEQUAL = range(9)
ON_REFERENCE = 0b1_1000_1101  # the bit of each operation that takes bases of the reference: M D N = X
ON_QUERY = 0b1_1001_0011  # of each that takes bases of the read: M I S = X


@scalar
def is_match(operation):
    """M, = or X: bases aligned to bases."""
    return operation in (MATCH, EQUAL, UNEQUAL)


@scalar
def run_of(code):
    """-> (operation, length, bases of the reference that it takes, bases of the read)."""
    operation, length = np.int64(code & 15), np.int64(code >> 4)
    return operation, length, length * ((ON_REFERENCE >> operation) & 1), length * ((ON_QUERY >> operation) & 1)
