"""Turn families into reads as sequenced: overlapping mates agree, and uninformative ends are cut off."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import ConsensusParameters
from readwarp.errors import InputError
from readwarp.formats.alignments.layout import NAME
from readwarp.molecules import read_kernels as kernels
from readwarp.molecules.group import Families
from readwarp.ragged import empty, offsets_of


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
    starts, lengths, operations = records.offsets[:-1], *np.empty((2, len(records)), np.int64)
    kernels.measure(records.data, starts, lengths, operations)
    reads = empty(
        MoleculeReads,
        {},
        molecule=np.repeat(np.arange(families.offsets.size - 1), np.diff(families.offsets)),
        strand=records.strand.copy(),
        read_offsets=offsets_of(lengths),
        cigar_offsets=offsets_of(operations),
    )
    bad = kernels.decode(records.data, starts, reads)
    if bad >= 0:
        name = records.data[starts[bad] + NAME :][:255].tobytes().partition(b"\0")[0]
        raise InputError(path, "has no base qualities", ascii(name.decode("latin-1"))[1:-1])
    if parameters.overlapping:
        kernels.merge_mates(reads, np.lexsort((reads.segment, reads.name_hash, reads.strand, reads.molecule)))
    kernels.orient(reads, parameters.min_input_base_quality)
    return reads
