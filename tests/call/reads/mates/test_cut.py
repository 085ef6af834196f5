"""Long reads cut to a window: what lies in it stays as it was."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, reads_of
from readwarp.call.likelihoods.evidence import ends_of
from readwarp.call.reads.mates.cut import cut_long
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import take

LENGTH = 40
OPERATIONS = "MIDNSHP=X"
Column = tuple[int, str, int, int]  # place on the reference (the next one, for bases that have none), operation, ...


def columns(reads: AlignedReads, read: int) -> list[Column]:
    """... base and quality (-1: none) of each column of the alignment; hard clips and padding have none."""
    own = take(reads, "reads", np.array([read]))
    p, q, out = int(own.position[0]), 0, []
    for code in own.cigar.tolist():
        letter = OPERATIONS[code & 15]
        for _ in range(code >> 4):
            base = (int(own.bases[q]), int(own.qualities[q])) if letter in "MIS=X" else (-1, -1)
            if letter not in "HP":
                out.append((p, letter, *base))
            p, q = p + (letter in "MDN=X"), q + (letter in "MIS=X")
    assert p == own.reference_stop[0] and q == own.bases.size
    return out


def usable(made: list[Read]) -> AlignedReads:
    """Those that begin and end with aligned bases, but for clips, as `join_mates` leaves them."""
    good = []
    for read in made:
        letters = "".join(o for n, o in read.operations if n)
        inner = letters.strip("S")
        if inner and inner[0] in "M=X" and inner[-1] in "M=X" and not set(letters) & set("HP"):
            good.append(read)
    return aligned_reads(good)


@given(reads_of(LENGTH), st.integers(-5, LENGTH), st.integers(1, 30))
@settings(max_examples=150)
def test_what_lies_in_the_window_stays(made, low, size):
    reads, high = usable(made), low + size
    reads = take(reads, "reads", (reads.position < high) & (reads.reference_stop > low))
    cut = cut_long(reads, low, high)
    assert len(cut) == len(reads) and (ends_of(cut) == ends_of(reads)).all()
    for name in ("name_hash", "flag", "mapping_quality", "sample"):
        assert (getattr(cut, name) == getattr(reads, name)).all()
    for read in range(len(reads)):
        whole, part = columns(reads, read), columns(cut, read)
        first = 0
        if reads.position[read] < low:
            first = max(i for i, (p, letter, *_) in enumerate(whole) if letter in "M=X" and p <= low)
        stop = len(whole)
        if reads.reference_stop[read] > high:
            stop = min(i for i, (p, letter, *_) in enumerate(whole) if letter in "M=X" and p >= high - 1) + 1
        assert part == whole[first:stop]


def test_reads_within_the_window_are_the_same_object():
    reads = aligned_reads([Read(5, "3S10M", "A" * 13, (30,) * 13), Read(8, "4M", "ACGT", (30,) * 4, flag=16)])
    assert cut_long(reads, 5, 15) is reads
    empty = take(reads, "reads", slice(0, 0))
    assert cut_long(empty, 0, 9) is empty


def test_strands_of_bases_stay():
    """`shared` is empty at the end of a forward read and at the beginning of a reverse one."""
    bases, good = "ACGTACGTAC", (30,) * 10
    cut = cut_long(aligned_reads([Read(0, "10M", bases, good), Read(0, "10M", bases, good, flag=16)]), 2, 7)
    assert cut.shared.tolist() == [[5, 5], [0, 0]] and cut.position.tolist() == [2, 2]
    assert cut.hidden.tolist() == [[2, 3], [2, 3]] and cut.read_offsets.tolist() == [0, 5, 10]


def test_a_deletion_across_the_edge_is_kept():
    reads = aligned_reads([Read(0, "5M20D5M20D5M", "ACGTACGTACGTACG", (30,) * 15)])
    cut = cut_long(reads, 10, 40)  # both deletions reach into the window
    assert (cut.position[0], cut.reference_stop[0]) == (4, 51)
    assert [f"{code >> 4}{OPERATIONS[code & 15]}" for code in cut.cigar.tolist()] == ["1M", "20D", "5M", "20D", "1M"]
