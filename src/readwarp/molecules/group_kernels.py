"""Find the records of molecules in compiled loops."""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments import layout
from readwarp.rules.flags import MATE_UNMAPPED, PAIRED, SECONDARY, SUPPLEMENTARY, UNMAPPED
from readwarp.rules.hashes import hash_of

M, I = ord("M"), ord("I")  # noqa: E741
SLASH, A, B = ord("/"), ord("A"), ord("B")
FATES = ("taken", "not_primary", "unmapped", "without_molecule", "no_strand", "unsorted")
TAKEN, NOT_PRIMARY, UNALIGNED, NO_MOLECULE, NO_STRAND, UNSORTED = range(6)
LAST_PLACE = (1 << 62) - 1  # place of records without a contig


@scalar
def place_of(contig, position):
    return contig << 32 | position + 1 if contig >= 0 else np.int64(LAST_PLACE)


@scalar
def molecule_of(data, at, stop):
    """Return the start and stop of MI:Z's value in the record [at, stop); 0, 0 without one."""
    start, end = layout.tag_of(data, at, stop, M, I)
    return (start, end) if end > start and data[start - 1] == layout.TEXT else (np.int64(0), np.int64(0))


@kernel
def find(records, by_place, duplex, last, molecule, strand, places, fate):
    """Set the fate of each record (Encoded), uint8, and the other columns of those TAKEN.

    places: int64 [2, records], start and reach of the record. last: the place of the record before. Returns (the row
    whose fate is an error, or -1, the place of the last record).
    """
    data, offsets = records.data, records.offsets
    for i in range(offsets.size - 1):
        at, stop = offsets[i], offsets[i + 1]
        own = place_of(layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, at + layout.POSITION))
        if by_place and own < last:
            fate[i] = UNSORTED
            return i, last
        last = own
        flag = layout.uint16_at(data, at + layout.FLAG)
        if flag & (SECONDARY | SUPPLEMENTARY):
            fate[i] = NOT_PRIMARY
            continue
        has_mate = flag & PAIRED != 0 and flag & MATE_UNMAPPED == 0
        if flag & UNMAPPED and not has_mate:
            fate[i] = UNALIGNED
            continue
        start, end = molecule_of(data, at, stop)
        if end == start:
            fate[i] = NO_MOLECULE
            continue
        strand[i] = 0
        if duplex:
            if end - start < 3 or data[end - 2] != SLASH or (data[end - 1] != A and data[end - 1] != B):
                fate[i] = NO_STRAND
                return i, last
            strand[i] = data[end - 1] == B
            end -= 2
        fate[i], molecule[i] = TAKEN, hash_of(data, start, end)
        places[0, i] = places[1, i] = own
        if has_mate:
            contig = layout.int32_at(data, at + layout.MATE_CONTIG)
            mate = place_of(contig, layout.int32_at(data, at + layout.MATE_POSITION))
            if mate < LAST_PLACE:
                places[1, i] = max(own, mate)
    return -1, last


@kernel
def split_by_place(records, order, gap, number, reach):
    """Number the molecules of records that `order` sorts by MI: number (int64 [records]), and reach of each (int64).

    Returns the number of molecules.
    """
    molecule, place, far = records.molecule, records.place, records.reach
    molecules = 0
    for k in range(order.size):
        i = order[k]
        is_new = k == 0 or molecule[order[k - 1]] != molecule[i]
        if is_new or place[i] > reach[molecules - 1] + gap:
            reach[molecules] = far[i]
            molecules += 1
        reach[molecules - 1] = max(reach[molecules - 1], far[i])
        number[i] = molecules - 1
    return molecules


@kernel
def split_by_run(molecule, number):
    """Number the runs of records with one MI: number (int64 [records]). Returns the number of runs."""
    runs = 0
    for i in range(molecule.size):
        if i == 0 or molecule[i - 1] != molecule[i]:
            runs += 1
        number[i] = runs - 1
    return runs
