"""The reads of one sample among those of several that are called together (host only)."""

from dataclasses import replace

import numpy as np

from readwarp.batches import AlignedReads
from readwarp.call.haplotypes.cpu import copy_runs, ranges


def of_sample(reads: AlignedReads, number: int) -> AlignedReads:
    """The reads of the sample of this number, in file order."""
    rows = np.flatnonzero(reads.sample == number)
    read_offsets = _offsets(reads.read_offsets, rows)
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
        cigar_offsets=_offsets(reads.cigar_offsets, rows),
        bases=bases,
        qualities=qualities,
        read_offsets=read_offsets,
    )


def _offsets(offsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(np.diff(offsets)[rows], dtype=np.int64)))
