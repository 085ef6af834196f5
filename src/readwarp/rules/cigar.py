"""CIGARs in BAM coding, length << 4 | operation (SAM specification, section 4.2)."""

import numpy as np

from readwarp.compiler.jit import scalar

LETTERS = "MIDNSHP=X"
LETTER_BYTES = np.frombuffer(LETTERS.encode(), np.uint8)
MATCH, INSERTION, DELETION, SKIP, SOFT_CLIP, HARD_CLIP, PADDING, EQUAL, UNEQUAL = range(9)
ON_REFERENCE = 0b1_1000_1101  # a bit for each operation that consumes reference bases: M D N = X
SHARES = 10_000  # de of PAF and SAM has four decimals (minimap2's manual page)
ON_QUERY = 0b1_1001_0011  # a bit for each operation that consumes read bases: M I S = X


@scalar
def is_match(operation):
    """Return whether the operation is M, = or X, which align bases to bases."""
    return operation in (MATCH, EQUAL, UNEQUAL)


@scalar
def run_of(code):
    """Return (operation, length, reference bases consumed, read bases consumed)."""
    operation, length = np.int64(code & 15), np.int64(code >> 4)
    return operation, length, length * ((ON_REFERENCE >> operation) & 1), length * ((ON_QUERY >> operation) & 1)


@scalar
def push_run(cigar, begin, used, operation, length):
    """Add a run to operations cigar[begin:used], or lengthen the last one; return where they end now."""
    if used > begin and cigar[used - 1] & 15 == operation:
        cigar[used - 1] += np.uint32(length << 4)
        return used
    cigar[used] = np.uint32(length << 4 | operation)
    return used + 1


@scalar
def rounded_share(part, whole):
    """Return part / whole in units of 1 / SHARES, rounded as C prints the double; 0 if whole is 0.

    A tie is rounded by its double, which is rarely exact: that of 1 / 20000 lies above it. Products are exact, since
    `high` has 24 bits.
    """
    if whole <= 0:
        return np.int64(0)
    doubled = 2 * SHARES * part + whole
    rounded = doubled // (2 * whole)
    if doubled % (2 * whole) > 0:
        return rounded
    share = part / whole
    high = np.float64(np.float32(share))
    excess = (high * (2 * SHARES) - (2 * rounded - 1)) + (share - high) * (2 * SHARES)
    return rounded - (1 if excess < 0 or (excess == 0 and rounded & 1) else 0)


@scalar
def find_base(cigar, start, stop, position, first, target):
    """Return (index among the read's bases, operation) at the reference position `target`.

    The read's operations are cigar[start:stop]; `position` is that of its first aligned base, `first` the index of its
    first base. The result is the base aligned there, or the last base before a deletion or skip (`first` - 1 if there
    is none). Outside the alignment, index and operation are -1.
    """
    p, q = position, first
    for i in range(start, stop):
        operation, _, on_reference, on_read = run_of(cigar[i])
        if p <= target < p + on_reference:
            return (q + target - p if on_read else q - 1), operation
        p, q = p + on_reference, q + on_read
    return np.int64(-1), np.int64(-1)


@scalar
def hard_clips(cigar, start, stop):
    """Return the bases that operations cigar[start:stop] clip hard at the start and the end."""
    leading = trailing = np.int64(0)
    if stop > start and cigar[start] & 15 == HARD_CLIP:
        leading = np.int64(cigar[start] >> 4)
    if stop > start + 1 and cigar[stop - 1] & 15 == HARD_CLIP:
        trailing = np.int64(cigar[stop - 1] >> 4)
    return leading, trailing


@scalar
def soft_clips(cigar, start, stop):
    """Return the bases clipped at the start and the end of a read with operations cigar[start:stop]."""
    leading = trailing = np.int64(0)
    is_leading = True
    for i in range(start, stop):
        operation, length, _, _ = run_of(cigar[i])
        if operation == SOFT_CLIP and is_leading:
            leading = length
        elif operation == SOFT_CLIP:
            trailing = length
        elif is_match(operation):
            is_leading = False
    return leading, trailing
