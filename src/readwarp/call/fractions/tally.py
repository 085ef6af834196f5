"""Reads of each record by allele, strand and orientation, and their medians (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Likelihoods, Sites
from readwarp.call.evidence import DEPENDENT, NOTHING
from readwarp.device.jit import kernel
from readwarp.ragged import empty

FIRST, PAIRED = 0x40, 1  # in FLAG
REFERENCE, OTHER = 0, 1  # rows of what is counted by allele
VALUES = 256  # a greater distance from an end counts as the last one
QUALITY, MAPPING, DISTANCE = range(3)


class Records(NamedTuple):
    """The alleles that become records, in order of site."""

    site: Annotated[ndarray, "int64 [records]"]
    allele: Annotated[ndarray, "int64 [records]"]  # row of Sites.deleted


class Tally(NamedTuple):
    """Of REF and of the record's other allele."""

    depth: Annotated[ndarray, "int32 [records, samples]"]  # reads that say something of any allele
    reads: Annotated[ndarray, "int32 [records, samples, 2]"]  # that show it
    strands: Annotated[ndarray, "int32 [records, samples, 2, 2]"]  # forward, reverse
    independent: Annotated[ndarray, "int32 [records, samples, 2, 2]"]  # those that count for strand bias
    orientations: Annotated[ndarray, "int32 [records, samples, 2, 2]"]  # F1R2, F2R1
    medians: Annotated[ndarray, "float64 [records, 2, 3]"]  # base quality, MAPQ, bases to the nearer end; NaN: no reads
    squares: Annotated[ndarray, "int64 [records]"]  # sum of squared MAPQ


def orientations_of(reads: AlignedReads) -> ndarray:
    """uint8 [reads]: 0 where the pair's first read is forward (F1R2), 1 where it is reverse; else the strand."""
    is_last = (reads.flag & PAIRED > 0) & (reads.flag & FIRST == 0)
    return np.asarray(reads.strand ^ is_last, np.uint8)


def tally(sites: Sites, likelihoods: Likelihoods, orientation: ndarray, records: Records, is_tumour: ndarray) -> Tally:
    """Medians are of the samples with `is_tumour`, bool [samples]."""
    out = empty(Tally, {"records": records.site.size, "samples": is_tumour.size})
    for column in out:
        column[:] = 0
    count(sites.allele_offsets, likelihoods, orientation, records, is_tumour, np.empty((2, 3, VALUES), np.int64), out)
    return out


@kernel
def count(allele_offsets, likelihoods, orientation, records, is_tumour, histograms, out):
    """histograms: room for those of one record."""
    for row in range(records.site.size):
        site = records.site[row]
        other = records.allele[row] - allele_offsets[site]
        histograms[:] = 0
        for pair in range(likelihoods.pair_offsets[site], likelihoods.pair_offsets[site + 1]):
            s, allele, strand = likelihoods.sample[pair], likelihoods.allele[pair], likelihoods.strand[pair]
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
    """The lower one of two; NaN of nothing."""
    total, seen = histogram.sum(), 0
    for value in range(histogram.size):
        seen += histogram[value]
        if total and 2 * seen >= total:
            return float(value)
    return np.nan
