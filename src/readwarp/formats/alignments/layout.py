"""Layout of a BAM record (SAM specification, section 4.2). Offsets are in bytes, block_size included."""

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.rules.cigar import SKIP, SOFT_CLIP, UNEQUAL, run_of

CONTIG, POSITION, NAME_LENGTH, MAPPING_QUALITY, OPERATIONS, FLAG, LENGTH = 4, 8, 12, 13, 16, 18, 20
MAX_RECORD = 1 << 28  # bytes; a record that claims more is damaged
MATE_CONTIG, MATE_POSITION, TEMPLATE_LENGTH, NAME = 24, 28, 32, 36
LONGEST_NAME = 255  # bytes, with the final zero
BASES = np.full(16, 4, np.uint8)  # =ACMGRSVTWYHKDBN -> 0-4
BASES[[1, 2, 4, 8]] = 0, 1, 2, 3
CHARACTER, ARRAY, HEX, TEXT, FLOAT, INTEGER, UNSIGNED = b"ABHZfiI"  # types of fields
C, G, R = b"CGR"
MAX_OPERATIONS = 65_535  # in a CIGAR; longer ones are in the field CG


def values_at(data: ndarray, places: ndarray, dtype: str) -> ndarray:
    """Return the little-endian integers at these places of the bytes."""
    return data[places[:, None] + np.arange(np.dtype(dtype).itemsize)].view(dtype).ravel()


@scalar
def int32_at(data, at):
    """Return a little-endian int32 as int64: one load, since unsigned indices need no test for negative ones."""
    at, one = np.uint64(at), np.uint64(1)
    low = np.uint32(data[at]) | np.uint32(data[at + one]) << np.uint32(8)
    high = np.uint32(data[at + one + one]) << np.uint32(16) | np.uint32(data[at + one + one + one]) << np.uint32(24)
    return np.int64(np.int32(low | high))


@scalar
def uint32_at(data, at):
    return int32_at(data, at) & 0xFFFFFFFF


@scalar
def uint16_at(data, at):
    at = np.uint64(at)
    return np.int64(data[at]) | np.int64(data[at + np.uint64(1)]) << 8


@scalar
def stop_of(data, at):
    """Return where the record at `at` stops, by its block_size."""
    return at + 4 + int32_at(data, at)


@scalar
def stored_cigar_of(data, at):
    """Return where the name ends and the stored CIGAR begins, and its number of operations; see `cigar_of`."""
    return at + NAME + np.int64(data[at + NAME_LENGTH]), uint16_at(data, at + OPERATIONS)


@scalar
def bases_of(data, at):
    """Return where the bases start, two a byte, and their number."""
    cigar, operations = stored_cigar_of(data, at)
    return cigar + 4 * operations, int32_at(data, at + LENGTH)


@scalar
def qualities_of(data, at):
    """Return where the base qualities start and stop; the fields follow."""
    bases, length = bases_of(data, at)
    start = bases + ((length + 1) >> 1)
    return start, start + length


@scalar
def is_whole(data, at, stop):
    """Return whether the parts of the record fit into [at, stop), and it has a name."""
    return data[at + NAME_LENGTH] > 0 and int32_at(data, at + LENGTH) >= 0 and qualities_of(data, at)[1] <= stop


@scalar
def width_of(kind):
    """Return the bytes per number of this type: c C 1, s S 2, i I f 4."""
    if kind == 99 or kind == 67:
        return 1
    return 2 if kind == 115 or kind == 83 else 4


@scalar
def get_number(values, at, kind):
    """Return the little-endian integer of type c C s S i I (or the bits of f)."""
    width, number = width_of(kind), np.int64(0)
    for i in range(width):
        number |= np.int64(values[at + i]) << (8 * i)
    signed = kind == 99 or kind == 115 or kind == 105
    return number - (1 << (8 * width)) if signed and number >> (8 * width - 1) else number


@scalar
def field_stop(tags, at, stop):
    """Return where the field at `at` stops; beyond `stop`, the end of the fields, if it is damaged."""
    if at + 4 > stop:
        return stop + 1
    kind, at = tags[at + 2], at + 3
    if kind == TEXT or kind == HEX:
        while at < stop and tags[at] != 0:
            at += 1
        return at + 1
    if kind == ARRAY:
        return at + 5 + width_of(tags[at]) * get_number(tags, at + 1, UNSIGNED) if at + 5 <= stop else stop + 1
    return at + 1 if kind == CHARACTER else at + width_of(kind)


@scalar
def tag_of(data, at, stop, first, second):
    """Return where the value of a text field (two letters) of the record [at, stop) starts and stops; 0, 0 if none."""
    field = qualities_of(data, at)[1]
    while field + 4 <= stop:
        end = field_stop(data, field, stop)
        if data[field] == first and data[field + 1] == second and end <= stop:
            return field + 3, end - 1
        field = end
    return np.int64(0), np.int64(0)


@scalar
def read_group_of(data, at, stop):
    """Return `tag_of` RG."""
    return tag_of(data, at, stop, R, G)


@scalar
def cigar_of(data, at):
    """Return where the CIGAR starts, and its number of operations; -1 if CG should hold them and does not.

    A CIGAR of more than MAX_OPERATIONS is in CG:B:I, replaced by two operations: a soft clip of all bases and a skip of
    the covered reference (SAM specification, section 4.2.2). Without CG, these two are the CIGAR.
    """
    start, operations = stored_cigar_of(data, at)
    if operations != 2 or data[start + 4] & 15 != SKIP:
        return start, operations
    if uint32_at(data, start) != int32_at(data, at + LENGTH) << 4 | SOFT_CLIP:
        return start, operations
    value, _ = tag_of(data, at, stop_of(data, at), C, G)
    if value == 0:
        return start, operations
    if data[value - 1] != ARRAY or (data[value] != UNSIGNED and data[value] != INTEGER):
        return start, np.int64(-1)
    held = uint32_at(data, value + 1)
    return (value + 5, held) if held >= operations else (start, np.int64(-1))


@scalar
def span_of(data, at):
    """Return (end of the alignment on the reference, read bases that the CIGAR consumes; -1 if it is invalid)."""
    cigar, operations = cigar_of(data, at)
    stop, bases = int32_at(data, at + POSITION), np.int64(0)
    is_valid = operations >= 0
    for i in range(operations):
        operation, _, on_reference, on_read = run_of(uint32_at(data, cigar + 4 * i))
        stop, bases = stop + on_reference, bases + on_read
        is_valid &= operation <= UNEQUAL
    return stop, bases if is_valid else np.int64(-1)
