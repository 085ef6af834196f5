"""The reads of one sample among those of several that are called together (host only)."""

from dataclasses import replace

import numpy as np

from readwarp.batches import AlignedReads
from readwarp.call.haplotypes.build import copy_runs
from readwarp.ragged import offsets_of, ranges


def of_sample(reads: AlignedReads, number: int) -> AlignedReads:
    """The reads of the sample of this number, in file order."""
    rows = np.flatnonzero(reads.sample == number)
    read_offsets = offsets_of(np.diff(reads.read_offsets)[rows])
    bases, qualities = np.empty((2, read_offsets[-1]), np.uint8)
    for source, out in ((reads.bases, bases), (reads.qualities, qualities)):
        copy_runs(source, reads.read_offsets[rows], read_offsets[:-1], read_offsets[1:], out)
    return replace(
        reads,
        position=reads.position[rows],
        reference_stop=reads.reference_stop[rows],
        flag=reads.flag[rows],
        mapping_quality=reads.mapping_quality[rows],
        name_hash=reads.name_hash[rows],
        sample=reads.sample[rows],
        cigar=reads.cigar[ranges(reads.cigar_offsets, rows)],
        cigar_offsets=offsets_of(np.diff(reads.cigar_offsets)[rows]),
        bases=bases,
        qualities=qualities,
        read_offsets=read_offsets,
    )
