"""Call the consensus of the UMIs (RX) of a pile's reads."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.layout import TEXT, tag_of
from readwarp.molecules.agree import PILES, Stacks
from readwarp.molecules.combine import Consensus
from readwarp.molecules.group import MoleculeRecords
from readwarp.ragged import offsets_of
from readwarp.rules.bases import CODES, LETTERS

R, X = ord("R"), ord("X")
DASH, N = ord("-"), ord("N")


class MoleculeUmis(NamedTuple):
    letters: Annotated[ndarray, "uint8 [letters]"]
    offsets: Annotated[ndarray, "int64 [piles + 1] of letters"]  # empty where no read has RX


def call_umis(records: MoleculeRecords, stacks: Stacks, consensus: Consensus) -> MoleculeUmis:
    """Call at each place the letter that most reads have, N on a tie; the same for both mates.

    Reads of strand B have the UMIs of both ends swapped. UMIs whose length differs from the first one's are left out.
    """
    places, sizes = np.empty((2, stacks.reads.size), np.int64), np.empty(len(consensus), np.int64)
    find(records, stacks, places)
    measure(stacks, places, sizes)
    offsets = offsets_of(sizes)
    letters = np.empty(offsets[-1], np.uint8)
    fill(records.data, stacks, places, offsets, letters)
    return MoleculeUmis(letters, offsets)


@kernel
def find(records, stacks, places):
    """Find the start and stop of each member's RX:Z value: places (int64 [2, members]); 0, 0 without one."""
    for k in range(stacks.reads.size):
        row = stacks.reads[k]
        start, stop = tag_of(records.data, records.offsets[row], records.offsets[row + 1], R, X)
        if stop == start or records.data[start - 1] != TEXT:
            start = stop = np.int64(0)
        places[0, k], places[1, k] = start, stop


@kernel
def measure(stacks, places, sizes):
    """Count the letters of the first UMI of each pile: sizes (int64 [piles])."""
    for p in range(sizes.size):
        sizes[p] = 0
        first, stop = voters(p)
        for k in range(stacks.offsets[2 * first], stacks.offsets[2 * stop]):
            if sizes[p] == 0:
                sizes[p] = places[1, k] - places[0, k]


@scalar
def voters(pile):
    """Return [first, stop) of the piles whose reads choose a pile's UMI: both of a pair, or a single read's alone."""
    of_molecule = pile - pile % PILES
    return (pile, pile + 1) if pile == of_molecule else (of_molecule + 1, of_molecule + PILES)


@scalar
def swapped(data, start, stop, i):
    """Return letter i of the UMI data[start:stop] with its two halves, which a dash divides, swapped."""
    dash = start
    while dash < stop and data[dash] != DASH:
        dash += 1
    if dash == stop:
        return data[start + i]
    second = stop - dash - 1
    if i < second:
        return data[dash + 1 + i]
    return data[dash] if i == second else data[start + i - second - 1]


@kernel
def fill(data, stacks, places, offsets, letters):
    """Write the consensus of each pile to letters (uint8)."""
    counts = np.empty(5, np.int64)
    for p in range(offsets.size - 1):
        length = offsets[p + 1] - offsets[p]
        for i in range(length):
            counts[:] = 0
            other = np.uint8(0)
            others = number = 0
            first, last = voters(p)
            for s in range(2 * first, 2 * last):
                for k in range(stacks.offsets[s], stacks.offsets[s + 1]):
                    start, stop = places[0, k], places[1, k]
                    if stop - start != length:
                        continue
                    letter = data[start + i] if s % 2 == 0 else swapped(data, start, stop, i)
                    code, number = CODES[letter], number + 1
                    counts[code] += 1
                    if code == 4 and letter != N:
                        other, others = letter, others + 1
            best = counts[:4].max()
            leaders = np.count_nonzero(counts[:4] == best)
            if others == number or number == 1:
                letters[offsets[p] + i] = other if others else LETTERS[np.argmax(counts)]
            elif best == 0 or leaders > 1 or others:
                letters[offsets[p] + i] = N
            else:
                letters[offsets[p] + i] = LETTERS[np.argmax(counts[:4])]
