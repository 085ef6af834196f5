"""Find anchors that can be linked, in one pass on the host."""

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import reference_of, strand_of
from readwarp.align.batches import SeedHits
from readwarp.align.chain.scalar import LinkRules
from readwarp.align.places import contig_of
from readwarp.compiler.jit import kernel


def find_stretches(hits: SeedHits, contig_offsets: ndarray, rules: LinkRules) -> ndarray:
    """Return the stretches, int64 [stretches + 1] of anchors: one read, strand and contig, no step too long to link."""
    stops = np.empty(hits.anchors.size, np.int64)
    found = cut_reads(hits, contig_offsets, rules.max_step + rules.max_gap, stops)
    return np.concatenate((np.zeros(1, np.int64), stops[:found]))


@kernel
def cut_reads(hits, contig_offsets, longest, stops):
    """Write the end of each stretch to `stops`; return the number of stretches."""
    anchors, anchor_offsets = hits.anchors, hits.anchor_offsets
    found = 0
    for read in range(anchor_offsets.size - 1):
        stop, last = anchor_offsets[read], anchor_offsets[read + 1]
        while stop < last:
            strand, reference = strand_of(anchors[stop]), reference_of(anchors[stop])
            contig_stop = contig_offsets[contig_of(contig_offsets, reference) + 1]
            while stop < last:
                following = reference_of(anchors[stop])
                is_far = following - reference > longest or following >= contig_stop
                if is_far or strand_of(anchors[stop]) != strand:
                    break
                reference = following
                stop += 1
            stops[found] = stop
            found += 1
    return found
