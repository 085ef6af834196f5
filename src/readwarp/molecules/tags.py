"""Write consensus reads as a ReadBatch, with names and tags that describe their evidence.

RG, MI and RX; of all columns cD (most reads), cM (fewest) and cE (share of bases that differ); without --duplex, of
each base cd (reads) and ce (those that differ). With it, the same of each strand: aD aM aE ad ae, bD bM bE bd be; and
their consensus ac aq and bc bq. These are fgbio's; counts of bases are 32,767 at most.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.molecules import tag_kernels as kernels
from readwarp.molecules.agree import PILES
from readwarp.molecules.columns import Columns
from readwarp.molecules.combine import Consensus
from readwarp.molecules.group import Families
from readwarp.molecules.umis import MoleculeUmis
from readwarp.ragged import empty, offsets_of

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
    kernels.measure(families.records, firsts, rows, consensus, umis, naming, sizes)
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
    kernels.fill(families.records, firsts, rows, columns, consensus, umis, naming, reads)
    return reads
