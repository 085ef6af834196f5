"""Count reads of each record by allele, strand and orientation, with medians (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import DEPENDENT, NOTHING
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import empty
from readwarp.rules.flags import FIRST, PAIRED

REFERENCE, OTHER = 0, 1  # rows of counts by allele
VALUES = 256  # a greater distance from an end counts as the last value
QUALITY, MAPPING, DISTANCE = range(3)


class TalliedAlleles(NamedTuple):
    """Alleles that become records, in order of site."""

    site: Annotated[ndarray, "int64 [records]"]
    allele: Annotated[ndarray, "int64 [records]"]  # row of Sites.deleted


class AlleleTally(NamedTuple):
    """Counts of reads that show REF and the record's ALT allele."""

    depth: Annotated[ndarray, "int32 [records, samples]"]  # informative reads
    reads: Annotated[ndarray, "int32 [records, samples, 2]"]  # reads that show the allele
    strands: Annotated[ndarray, "int32 [records, samples, 2, 2]"]  # by strand: forward, reverse
    independent: Annotated[ndarray, "int32 [records, samples, 2, 2]"]  # by strand, reads that count for strand bias
    orientations: Annotated[ndarray, "int32 [records, samples, 2, 2]"]  # by orientation: F1R2, F2R1
    medians: Annotated[ndarray, "float64 [records, 2, 3]"]  # base quality, MAPQ, bases to the nearer end; NaN: no reads
    squares: Annotated[ndarray, "int64 [records]"]  # sum of squared MAPQ


def orientations_of(reads: AlignedReads) -> ndarray:
    """Return 0 for a pair whose first read is forward (F1R2), 1 for reverse; unpaired: the strand (uint8 [reads])."""
    is_last = (reads.flag & PAIRED > 0) & (reads.flag & FIRST == 0)
    return np.asarray(reads.strand ^ is_last, np.uint8)


def tally(
    sites: Sites, likelihoods: Likelihoods, orientation: ndarray, records: TalliedAlleles, is_tumour: ndarray
) -> AlleleTally:
    """Tally the reads. Medians are over samples with `is_tumour`, bool [samples]."""
    out = empty(AlleleTally, {"records": records.site.size, "samples": is_tumour.size})
    for column in out:
        column[:] = 0
    count(sites.allele_offsets, likelihoods, orientation, records, is_tumour, np.empty((2, 3, VALUES), np.int64), out)
    return out


@kernel
def count(allele_offsets, likelihoods, orientation, records, is_tumour, histograms, out):
    """Count the reads. histograms: scratch for one record."""
    for row in range(records.site.size):
        site = records.site[row]
        other = records.allele[row] - allele_offsets[site]
        histograms[:] = 0
        for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
            s, allele = likelihoods.sample[pair], likelihoods.allele[pair]
            strand = likelihoods.strand[pair]
            if allele == NOTHING:
                continue
            out.depth[row, s] += 1
            out.squares[row] += np.int64(likelihoods.mapping_quality[pair]) ** 2
            if allele != 0 and allele != other:
                continue
            side = OTHER if allele else REFERENCE
            out.reads[row, s, side] += 1
            out.strands[row, s, side, strand & 1] += 1
            out.independent[row, s, side, strand & 1] += strand & DEPENDENT == 0
            out.orientations[row, s, side, orientation[likelihoods.read[pair]]] += 1
            if is_tumour[s]:
                histograms[side, QUALITY, likelihoods.quality[pair]] += 1
                histograms[side, MAPPING, likelihoods.mapping_quality[pair]] += 1
                histograms[side, DISTANCE, min(VALUES - 1, max(0, likelihoods.end_distance[pair]))] += 1
        for side in range(2):
            for kind in range(3):
                out.medians[row, side, kind] = median(histograms[side, kind])


@kernel
def median(histogram):
    """Return the lower median; NaN if empty."""
    total, seen = histogram.sum(), 0
    for value in range(histogram.size):
        seen += histogram[value]
        if total and 2 * seen >= total:
            return float(value)
    return np.nan
