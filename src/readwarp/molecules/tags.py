"""Write consensus reads as a ReadBatch, with names and tags that describe their evidence.

RG, MI and RX; of all columns cD (most reads), cM (fewest) and cE (share of bases that differ); without --duplex, of
each base cd (reads) and ce (those that differ). With it, the same of each strand: aD aM aE ad ae, bD bM bE bd be; and
their consensus ac aq and bc bq. These are fgbio's; counts of bases are 32,767 at most.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.layout import ARRAY, INTEGER, TEXT
from readwarp.formats.alignments.sam import put_bases, put_qualities
from readwarp.formats.alignments.tag_bytes import put_float, put_tag
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.common.text import put_bytes, put_copy
from readwarp.molecules.agree import PILES
from readwarp.molecules.columns import Columns, depth_of
from readwarp.molecules.combine import Consensus
from readwarp.molecules.group import Families, molecule_of
from readwarp.molecules.umis import MoleculeUmis
from readwarp.ragged import empty, offsets_of

PHRED33 = 33
LARGEST = 32_767  # cap of a base's count
SHORT = ord("s")
SMALL_A, SMALL_B, SMALL_C, SMALL_D, SMALL_E, SMALL_Q = b"abcdeq"
D, E, M = b"DEM"
MI, RG, RX = (int.from_bytes(name, "little") for name in (b"MI", b"RG", b"RX"))
NUMBER = 7  # bytes of a tag with a number
FIELD, ARRAY_FIELD = 4, 8  # overhead of one with text, or shorts
SEGMENTS = np.array([Segment.UNPAIRED, Segment.FIRST, Segment.LAST], np.uint8)


class ConsensusNaming(NamedTuple):
    """Naming rules that all reads of a run share."""

    prefix: Annotated[ndarray, "uint8 [letters]"]  # prefix of names, with the colon
    group: Annotated[ndarray, "uint8 [group letters]"]  # ID of the read group
    duplex: bool
    per_base: bool  # write tags with a value for each base


def make_reads(
    families: Families,
    columns: Columns,
    consensus: Consensus,
    umis: MoleculeUmis,
    is_written: ndarray,
    naming: ConsensusNaming,
) -> ReadBatch:
    """Make the reads. is_written: bool [piles]."""
    rows = np.flatnonzero(is_written)
    firsts = families.offsets[:-1][rows // PILES]
    sizes = np.empty((3, rows.size), np.int64)
    measure_reads(families.records, firsts, rows, consensus, umis, naming, sizes)
    reads = empty(
        ReadBatch,
        {},
        number=0,
        source=0,
        read_offsets=offsets_of(sizes[0]),
        name_offsets=offsets_of(sizes[1]),
        tag_offsets=offsets_of(sizes[2]),
        segment=SEGMENTS[rows % PILES],
        read_group=np.zeros(rows.size, np.int32),
        failed=np.zeros(rows.size, np.uint8),
    )
    write_reads(families.records, firsts, rows, columns, consensus, umis, naming, reads)
    return reads


@scalar
def name_of(records, row, duplex):
    """Return the start and stop of the molecule's name, MI without the strand."""
    start, stop = molecule_of(records.data, records.offsets[row], records.offsets[row + 1])
    return start, stop - 2 if duplex else stop


@kernel
def measure_reads(records, firsts, rows, consensus, umis, naming, sizes):
    """Count bases, letters of the name and bytes of the tags of the reads of piles `rows`: sizes (int64 [3, rows])."""
    for k in range(rows.size):
        p = rows[k]
        start, stop = name_of(records, firsts[k], naming.duplex)
        length, umi = consensus.offsets[p + 1] - consensus.offsets[p], umis.offsets[p + 1] - umis.offsets[p]
        sizes[0, k], sizes[1, k] = length, naming.prefix.size + stop - start
        size = FIELD + naming.group.size + FIELD + stop - start + 3 * NUMBER + (FIELD + umi if umi else 0)
        if naming.duplex:
            size += 6 * NUMBER
        if naming.per_base:
            strands = 0 if not naming.duplex else 2 if consensus.strands[1].stack[p] >= 0 else 1
            size += 2 * (ARRAY_FIELD + 2 * length) * max(1, strands) + 2 * (FIELD + length) * strands
        sizes[2, k] = size


@scalar
def put_text(name, values, start, stop, out, at):
    at = put_copy(values, start, stop, out, put_tag(out, at, name, TEXT))
    out[at] = 0
    return at + 1


@scalar
def put_count(name, number, out, at):
    return put_bytes(number, 4, out, put_tag(out, at, name, INTEGER))


@scalar
def put_shorts(name, number, out, at):
    """Write the beginning of a tag of `number` shorts, which follow."""
    at = put_tag(out, at, name, ARRAY)
    out[at] = SHORT
    return put_bytes(number, 4, out, at + 1)


@scalar
def put_depths(letter, columns, first, length, out, at):
    """Write the reads of each column, and those that differ."""
    at = put_shorts(letter | SMALL_D << 8, length, out, at)
    for i in range(first, first + length):
        at = put_bytes(min(LARGEST, depth_of(columns.counts, i)), 2, out, at)
    at = put_shorts(letter | SMALL_E << 8, length, out, at)
    for i in range(first, first + length):
        at = put_bytes(min(LARGEST, columns.errors[i]), 2, out, at)
    return at


@scalar
def put_sequence(letter, columns, first, length, out, at):
    """Write bases and qualities of a strand's consensus."""
    at = put_tag(out, at, letter | SMALL_C << 8, TEXT)
    at = put_bases(columns.bases, first, first + length, False, out, at)
    out[at] = 0
    at = put_tag(out, at + 1, letter | SMALL_Q << 8, TEXT)
    at = put_qualities(columns.qualities, first, first + length, False, PHRED33, out, at)
    out[at] = 0
    return at + 1


@scalar
def put_strand(letter, strand, p, out, at):
    at = put_count(letter | D << 8, strand.most[p], out, at)
    at = put_count(letter | M << 8, strand.fewest[p], out, at)
    return put_float(out, at, letter | E << 8, strand.error[p])


@kernel
def write_reads(records, firsts, rows, columns, consensus, umis, naming, out):
    """Write the reads of piles `rows` to `out` (ReadBatch)."""
    one, other = consensus.strands
    for k in range(rows.size):
        p = rows[k]
        start, length = consensus.offsets[p], consensus.offsets[p + 1] - consensus.offsets[p]
        put_copy(consensus.bases, start, start + length, out.bases, out.read_offsets[k])
        put_copy(consensus.qualities, start, start + length, out.qualities, out.read_offsets[k])
        begin, end = name_of(records, firsts[k], naming.duplex)
        at = put_copy(naming.prefix, 0, naming.prefix.size, out.names, out.name_offsets[k])
        put_copy(records.data, begin, end, out.names, at)
        tags = out.tags
        at = put_text(RG, naming.group, 0, naming.group.size, tags, out.tag_offsets[k])
        at = put_text(MI, records.data, begin, end, tags, at)
        if umis.offsets[p + 1] > umis.offsets[p]:
            at = put_text(RX, umis.letters, umis.offsets[p], umis.offsets[p + 1], tags, at)
        at = put_strand(SMALL_C, consensus, p, tags, at)
        if naming.duplex:
            at = put_strand(SMALL_B, other, p, tags, put_strand(SMALL_A, one, p, tags, at))
        if not naming.per_base:
            continue
        first = columns.offsets[one.stack[p]]
        if not naming.duplex:
            put_depths(SMALL_C, columns, first, length, tags, at)
            continue
        at = put_sequence(SMALL_A, columns, first, length, tags, put_depths(SMALL_A, columns, first, length, tags, at))
        if other.stack[p] >= 0:
            first = columns.offsets[other.stack[p]]
            at = put_depths(SMALL_B, columns, first, length, tags, at)
            put_sequence(SMALL_B, columns, first, length, tags, at)
