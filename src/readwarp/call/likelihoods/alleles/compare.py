"""Compare every read of a region with each of its haplotypes, all regions in one batch.

Fragments whose mates overlap in a repeated unit are split first: they do not show how often it occurs.
"""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Regions, Sites
from readwarp.call.candidates.regions import MIN_BASES
from readwarp.call.likelihoods.batches import Haplotypes
from readwarp.call.likelihoods.pairhmm import LogLikelihoods, ReadRows
from readwarp.call.likelihoods.pairhmm.penalties import gap_penalties
from readwarp.call.reads.gap_models import GapModel
from readwarp.call.reads.mates import MIN_ANCHOR, MIN_DIFFERENCES
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.common.text import copy_rows
from readwarp.ragged import first_alike, offsets_of, ranges, replace
from readwarp.rules.cigar import is_match, run_of
from readwarp.rules.statuses import Status

MAX_BASES, MAX_PAIRS = 1 << 21, 1 << 20  # limits of one batch: some 200 MB of tables and pairs


class WeighedReads(NamedTuple):
    """Likelihoods of reads under the haplotypes of their regions; a region's pairs are a table, rows x haplotypes."""

    regions: Regions
    haplotypes: Haplotypes
    rows: ReadRows  # the regions' reads, cut to the bases that take part
    fragment: Annotated[ndarray, "int64 [rows]"]  # first row of the same name, sample and region
    pair_offsets: Annotated[ndarray, "int64 [regions + 1] of pairs"]
    values: Annotated[ndarray, "float64 [pairs]"]  # log10 P(read | haplotype)
    status: Annotated[ndarray, "uint8 [pairs]"]  # Status of the PairHMM

    @property
    def cells(self) -> ndarray:
        """Count the cells of the recurrence in each region (int64 [regions])."""
        haplotypes = self.haplotypes
        bases = np.diff(self.rows.offsets[self.regions.read_offsets])
        return np.asarray(bases * np.diff(haplotypes.base_offsets[haplotypes.haplotype_offsets]))

    def pairs_with(self, status: Status) -> ndarray:
        """Count the pairs of each region with that PairHMM status (int64 [regions])."""
        return np.diff(offsets_of(self.status == status)[self.pair_offsets])


def compare(
    regions: Regions,
    haplotypes: Haplotypes,
    reads: AlignedReads,
    sites: Sites,
    model: GapModel,
    log_likelihoods: LogLikelihoods,
) -> WeighedReads:
    """Compare the reads. `sites`: of the pileup; substitutions outside a region are ignored: no haplotype has them."""
    rows = cut_rows(regions, reads, model)
    hide_neighbours(sites.begin[~sites.is_indel], regions, reads, rows)
    lengths = np.log10(np.maximum(1, np.diff(haplotypes.base_offsets)))
    pair_offsets = offsets_of(np.diff(regions.read_offsets) * np.diff(haplotypes.haplotype_offsets))
    values, status = np.empty(pair_offsets[-1]), np.empty(pair_offsets[-1], np.uint8)
    for low, high in batches(regions, rows, pair_offsets):
        read, haplotype = pairs_of(regions, haplotypes, low, high)
        found, states = log_likelihoods(rows, haplotypes.bases, haplotypes.base_offsets, read, haplotype)
        own = slice(pair_offsets[low], pair_offsets[high])
        values[own], status[own] = found + lengths[haplotype], states
    return WeighedReads(regions, haplotypes, rows, find_fragments(regions, reads), pair_offsets, values, status)


def batches(regions: Regions, rows: ReadRows, pair_offsets: ndarray) -> Iterator[tuple[int, int]]:
    """Yield regions [low, high) to compare at once, so that tables and pairs take bounded memory."""
    bases = rows.offsets[regions.read_offsets]
    low = 0
    for high in range(1, len(regions) + 1):
        is_full = high == len(regions) or bases[high + 1] - bases[low] > MAX_BASES
        if is_full or pair_offsets[high + 1] - pair_offsets[low] > MAX_PAIRS:
            yield low, high
            low = high


def pairs_of(regions: Regions, haplotypes: Haplotypes, low: int, high: int) -> tuple[ndarray, ndarray]:
    """Return reads (rows) and haplotypes of all pairs of regions [low, high), row by row; int32 each."""
    row = np.arange(regions.read_offsets[low], regions.read_offsets[high], dtype=np.int32)
    region = np.repeat(np.arange(low, high), np.diff(regions.read_offsets[low : high + 1]))
    haplotype = ranges(haplotypes.haplotype_offsets, region).astype(np.int32)
    return np.repeat(row, np.diff(haplotypes.haplotype_offsets)[region]), haplotype


def cut_rows(regions: Regions, reads: AlignedReads, model: GapModel) -> ReadRows:
    """Return the bases that take part, with gap penalties by their context in the whole read."""
    gap_open, gap_extend = gap_penalties(reads.bases, reads.read_offsets, np.unique(regions.read), model)
    offsets = offsets_of(regions.base_stop - regions.base_start)
    columns = reads.bases, reads.qualities, gap_open, gap_extend
    bases, qualities, gap_open, gap_extend = (copy_rows(column, regions.base_start, offsets) for column in columns)
    return ReadRows(bases, qualities, gap_open, gap_extend, offsets)


def find_fragments(regions: Regions, reads: AlignedReads) -> ndarray:
    """Return Weighed.fragment."""
    region = np.repeat(np.arange(len(regions)), np.diff(regions.read_offsets))
    return first_alike(reads.sample[regions.read], reads.name_hash[regions.read], region)


@kernel
def hide_neighbours(places, regions, reads, rows):
    """Zero the qualities of rows at the places (ascending) outside their region."""
    for g in range(regions.start.size):
        start, stop = regions.start[g], regions.stop[g]
        for r in range(regions.read_offsets[g], regions.read_offsets[g + 1]):
            read = regions.read[r]
            p, q = reads.position[read], reads.read_offsets[read]
            for i in range(reads.cigar_offsets[read], reads.cigar_offsets[read + 1]):
                operation, length, on_reference, on_read = run_of(reads.cigar[i])
                k = np.searchsorted(places, p) if is_match(operation) else places.size
                while k < places.size and places[k] < p + length:
                    base = q + places[k] - p
                    if not start <= places[k] < stop and regions.base_start[r] <= base < regions.base_stop[r]:
                        rows.qualities[rows.offsets[r] + base - regions.base_start[r]] = 0
                    k += 1
                p, q = p + on_reference, q + on_read


def part_mates(regions: Regions, haplotypes: Haplotypes, reads: AlignedReads) -> Regions:
    """Split each fragment into two rows if its mates could lie in two copies of what they share.

    Mates were joined where they show the same bases. If a haplotype has these twice, each mate may come from another
    copy. One row then has the bases up to and including them, another the bases that follow.
    """
    size = np.maximum(haplotypes.deleted, np.diff(haplotypes.inserted_offsets))
    is_long = offsets_of(size >= MIN_ANCHOR)[haplotypes.variant_offsets[haplotypes.haplotype_offsets]]
    cut = np.zeros(regions.read.size, np.int64)
    find_cuts(np.flatnonzero(np.diff(is_long)), regions, haplotypes, reads, cut)
    if not cut.any():
        return regions
    order = np.sort(np.concatenate((np.arange(cut.size), np.flatnonzero(cut))))
    is_second = np.append(False, order[1:] == order[:-1])
    is_first = np.append(is_second[1:], False)
    return replace(
        regions,
        read=regions.read[order],
        base_start=np.where(is_second, cut[order], regions.base_start[order]),
        base_stop=np.where(is_first, cut[order], regions.base_stop[order]),
        read_offsets=offsets_of(np.where(cut > 0, 2, 1))[regions.read_offsets],
    )


@kernel
def find_cuts(wanted, regions, haplotypes, reads, cut):
    """Set the base before which each row of the wanted regions is cut; 0 where it is not."""
    for g in wanted:
        for row in range(regions.read_offsets[g], regions.read_offsets[g + 1]):
            read = regions.read[row]
            begin = reads.read_offsets[read]
            first = max(begin + reads.shared[read, 0], regions.base_start[row])
            stop = min(begin + reads.shared[read, 1], regions.base_stop[row])
            shortest = min(stop - first, stop - regions.base_start[row], regions.base_stop[row] - stop)
            if shortest < MIN_BASES:
                continue
            for h in range(haplotypes.haplotype_offsets[g], haplotypes.haplotype_offsets[g + 1]):
                low, high = haplotypes.base_offsets[h], haplotypes.base_offsets[h + 1]
                if occurs_twice(reads.bases[first:stop], haplotypes.bases[low:high]):
                    cut[row] = stop


@kernel
def occurs_twice(bases, haplotype):
    """Return whether the bases occur at two places of the haplotype, with fewer than MIN_DIFFERENCES differences."""
    found = 0
    for place in range(haplotype.size - bases.size + 1):
        differences = i = 0
        while i < bases.size and differences < MIN_DIFFERENCES:
            differences += bases[i] != haplotype[place + i]
            i += 1
        found += differences < MIN_DIFFERENCES
    return found > 1
