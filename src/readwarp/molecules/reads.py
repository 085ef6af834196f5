"""Turn families into reads as sequenced: overlapping mates agree, and uninformative ends are cut off."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.config import MAX_QUALITY, ConsensusParameters
from readwarp.errors import InputError
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.checks import name_of
from readwarp.formats.alignments.decoded import unpack
from readwarp.molecules.group import Families
from readwarp.molecules.model import LOWEST
from readwarp.ragged import empty, offsets_of
from readwarp.rules.bases import complement
from readwarp.rules.cigar import DELETION, SKIP, find_base, is_match, run_of, soft_clips
from readwarp.rules.flags import FIRST, PAIRED, REVERSE, UNMAPPED

NO_CALL = 4  # base
NO_QUALITY = 255


class MoleculeReads(NamedTuple):
    """Reads of some molecules, one molecule after the other, in file order."""

    molecule: Annotated[ndarray, "int64 [reads]"]
    strand: Annotated[ndarray, "uint8 [reads]"]  # 0 A, 1 B
    segment: Annotated[ndarray, "uint8 [reads]"]  # Segment
    flag: Annotated[ndarray, "int64 [reads]"]
    contig: Annotated[ndarray, "int64 [reads]"]
    position: Annotated[ndarray, "int64 [reads]"]
    name_hash: Annotated[ndarray, "uint64 [reads]"]
    fragment_end: Annotated[ndarray, "int64 [reads]"]  # where the mate's 5' end bounds the fragment; -1 unknown
    usable: Annotated[ndarray, "int64 [reads]"]  # bases, from the first one sequenced
    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4
    qualities: Annotated[ndarray, "uint8 [bases]"]
    read_offsets: Annotated[ndarray, "int64 [reads + 1] of bases"]
    cigar: Annotated[ndarray, "uint32 [operations]"]
    cigar_offsets: Annotated[ndarray, "int64 [reads + 1] of operations"]


def read_families(families: Families, parameters: ConsensusParameters, path: object) -> MoleculeReads:
    """Read the families. Raises InputError for a read without base qualities."""
    records = families.records
    starts = records.offsets[:-1]
    lengths, operations = np.empty((2, len(records)), np.int64)
    measure_records(records.data, starts, lengths, operations)
    reads = empty(
        MoleculeReads,
        {},
        molecule=np.repeat(np.arange(families.offsets.size - 1), np.diff(families.offsets)),
        strand=records.strand.copy(),
        read_offsets=offsets_of(lengths),
        cigar_offsets=offsets_of(operations),
    )
    bad = decode_records(records.data, starts, reads)
    if bad >= 0:
        raise InputError(path, "has no base qualities", name_of(records.data, starts[bad]))
    if parameters.overlapping:
        merge_mates(reads, np.lexsort((reads.segment, reads.name_hash, reads.strand, reads.molecule)))
    orient_reads(reads, parameters.min_input_base_quality)
    return reads


@kernel
def measure_records(data, starts, lengths, operations):
    """Count bases and CIGAR operations of the records at `starts`: lengths, operations (int64 [records])."""
    for i in range(starts.size):
        lengths[i] = layout.bases_of(data, starts[i])[1]
        operations[i] = max(np.int64(0), layout.cigar_of(data, starts[i])[1])


@kernel
def decode_records(data, starts, out):
    """Decode the records at `starts` into `out` (Reads), as aligned; return a record without qualities, or -1."""
    for i in range(starts.size):
        at = starts[i]
        unpack(data, at, out, i)
        flag = out.flag[i]
        first, stop = out.read_offsets[i], out.read_offsets[i + 1]
        out.contig[i] = layout.int32_at(data, at + layout.CONTIG)
        out.segment[i] = 0 if flag & PAIRED == 0 else 1 if flag & FIRST else 2
        if stop > first and out.qualities[first] == NO_QUALITY:
            return i
        for j in range(np.uint64(first), np.uint64(stop)):
            out.qualities[j] = min(out.qualities[j], np.uint8(MAX_QUALITY))
    return -1


@scalar
def agree(reads, one, other):
    """Make two mates' bases at one place equal: the better one, or none if they are equally good."""
    base, mate = reads.bases[one], reads.bases[other]
    if base == NO_CALL or mate == NO_CALL:
        return
    own, its = np.int64(reads.qualities[one]), np.int64(reads.qualities[other])
    quality = own + its if base == mate else abs(own - its)
    if base != mate and own <= its:
        base = mate if own < its else np.uint8(NO_CALL)
    reads.bases[one] = reads.bases[other] = base
    reads.qualities[one] = reads.qualities[other] = max(LOWEST, min(MAX_QUALITY, quality))


@scalar
def next_match(reads, at, stop, position, base):
    """Find the run of aligned bases at or after operation `at`: (operation, position, base, length; 0 at the end)."""
    while at < stop:
        operation, length, on_reference, on_read = run_of(reads.cigar[at])
        if is_match(operation) and length:
            return at, position, base, length
        at, position, base = at + 1, position + on_reference, base + on_read
    return at, position, base, np.int64(0)


@kernel
def merge_mates(reads, order):
    """Make both mates of a template agree on their bases at each position. `order` makes mates neighbours."""
    for k in range(order.size - 1):
        i, j = order[k], order[k + 1]
        same = reads.molecule[i] == reads.molecule[j] and reads.name_hash[i] == reads.name_hash[j]
        is_pair = same and reads.strand[i] == reads.strand[j] and reads.segment[i] == 1 and reads.segment[j] == 2
        if not is_pair or (reads.flag[i] | reads.flag[j]) & UNMAPPED or reads.contig[i] != reads.contig[j]:
            continue
        stop, its_stop = reads.cigar_offsets[i + 1], reads.cigar_offsets[j + 1]
        at, p, b, n = next_match(reads, reads.cigar_offsets[i], stop, reads.position[i], reads.read_offsets[i])
        it, q, c, m = next_match(reads, reads.cigar_offsets[j], its_stop, reads.position[j], reads.read_offsets[j])
        while n > 0 and m > 0:
            if p < q:
                step, its_step = min(n, q - p), np.int64(0)
            elif q < p:
                step, its_step = np.int64(0), min(m, p - q)
            else:
                step = its_step = min(n, m)
                for s in range(step):
                    agree(reads, b + s, c + s)
            p, b, n = p + step, b + step, n - step
            q, c, m = q + its_step, c + its_step, m - its_step
            if n == 0:
                at, p, b, n = next_match(reads, at + 1, stop, p, b)
            if m == 0:
                it, q, c, m = next_match(reads, it + 1, its_stop, q, c)


@scalar
def bases_beyond_mate(reads, i):
    """Count the bases at the 3' end of a read that lie beyond the 5' end of its mate, clipped ones included."""
    start, stop = reads.cigar_offsets[i], reads.cigar_offsets[i + 1]
    position = end = reads.position[i]
    bound = reads.fragment_end[i]
    if bound < 0 or reads.flag[i] & UNMAPPED:
        return np.int64(0)
    for j in range(start, stop):
        end += run_of(reads.cigar[j])[2]
    leading, trailing = soft_clips(reads.cigar, start, stop)
    if reads.flag[i] & REVERSE:
        if bound >= end:  # the mates point away from each other
            return np.int64(0)
        if position > bound:
            return max(np.int64(0), leading - (position - bound))
        base, operation = find_base(reads.cigar, start, stop, position, np.int64(0), bound)
        return base + 1 if operation == DELETION or operation == SKIP else base
    if bound <= position:
        return np.int64(0)
    if bound > end:
        return max(np.int64(0), trailing - (bound - end))
    length = reads.read_offsets[i + 1] - reads.read_offsets[i]
    return length - 1 - find_base(reads.cigar, start, stop, position, np.int64(0), bound - 1)[0]


@kernel
def orient_reads(reads, min_quality):
    """Orient reads as sequenced, with N for bases of low quality; set `usable`, the bases up to the last called one."""
    bases, qualities = reads.bases, reads.qualities
    for i in range(reads.flag.size):
        first, stop = reads.read_offsets[i], reads.read_offsets[i + 1]
        usable = stop - first - bases_beyond_mate(reads, i)
        if reads.flag[i] & REVERSE:
            for j in range((stop - first + 1) // 2):
                one, other = first + j, stop - 1 - j
                bases[one], bases[other] = complement(bases[other]), complement(bases[one])
                qualities[one], qualities[other] = qualities[other], qualities[one]
        for j in range(first, stop):
            if qualities[j] < min_quality:
                bases[j], qualities[j] = NO_CALL, LOWEST
        while usable > 0 and bases[first + usable - 1] == NO_CALL:
            usable -= 1
        reads.usable[i] = max(np.int64(0), usable)
