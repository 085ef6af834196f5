"""Every read of a region against every haplotype of it, all regions in one batch."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Haplotypes, Regions, Sites, Status
from readwarp.call.pairhmm import ReadRows
from readwarp.call.pairhmm.penalties import gap_penalties
from readwarp.device.backend import Backend
from readwarp.device.jit import kernel
from readwarp.ragged import offsets_of
from readwarp.rules.cigar import INSERTION, SOFT_CLIP, is_match

MOST_BASES, MOST_PAIRS = 1 << 21, 1 << 20  # of reads in one batch, some 200 MB of tables and pairs


@dataclass(frozen=True, slots=True)
class Weighed:
    """Reads against the haplotypes of regions."""

    regions: Regions
    haplotypes: Haplotypes
    rows: ReadRows  # the regions' reads, cut to the bases that take part
    values: ndarray  # float64, per region a table of log10 P(read | haplotype): its reads x its haplotypes
    status: ndarray  # uint8, Status of each of these pairs in PairHMM

    @property
    def value_offsets(self) -> ndarray:
        """Where each region's table begins (int64 [g + 1])."""
        return offsets_of(np.diff(self.regions.read_offsets) * np.diff(self.haplotypes.haplotype_offsets))

    @property
    def cells(self) -> ndarray:
        """Cells of the recurrence in each region (int64 [g])."""
        haplotypes, rows = self.haplotypes, self.rows.offsets[self.regions.read_offsets]
        return np.diff(rows) * np.diff(haplotypes.base_offsets[haplotypes.haplotype_offsets])

    def pairs_with(self, status: Status) -> ndarray:
        """Pairs of each region that PairHMM gave that status (int64 [g])."""
        return np.diff(offsets_of(self.status == status)[self.value_offsets])


def compare(
    regions: Regions,
    haplotypes: Haplotypes,
    reads: AlignedReads,
    qualities: ndarray,
    sites: Sites,
    backend: Backend,
) -> Weighed:
    """`sites`: of the pileup. A base at the substitution of a neighbour says nothing here: no haplotype has that."""
    rows = _rows(regions, reads, qualities)
    hide_neighbours(
        *(sites.begin[~sites.is_indel], regions.start, regions.stop, regions.read_offsets, regions.read),
        *(regions.base_start, regions.base_stop, reads.position, reads.cigar, reads.cigar_offsets),
        *(reads.read_offsets, rows.offsets, rows.qualities),
    )
    step = backend.step("readwarp.call.pairhmm")
    lengths = np.log10(np.maximum(1, np.diff(haplotypes.base_offsets)))
    parts, states = [np.empty(0)], [np.empty(0, np.uint8)]
    for low, high in batches(regions, haplotypes, rows):
        pair_read, pair_haplotype = pairs_of(regions, haplotypes, low, high)
        given = (rows, haplotypes.bases, haplotypes.base_offsets, pair_read, pair_haplotype)
        values, status = step.log_likelihoods(*given)
        parts.append(values + lengths[pair_haplotype])
        states.append(status)
    return Weighed(regions, haplotypes, rows, np.concatenate(parts), np.concatenate(states))


def batches(regions: Regions, haplotypes: Haplotypes, rows: ReadRows) -> Iterator[tuple[int, int]]:
    """Regions [low, high) to compare at once, so that tables and pairs take a bounded memory."""
    bases = rows.offsets[regions.read_offsets]
    pairs = offsets_of(np.diff(regions.read_offsets) * np.diff(haplotypes.haplotype_offsets))
    low = 0
    for high in range(1, len(regions) + 1):
        is_full = high == len(regions) or bases[high + 1] - bases[low] > MOST_BASES
        if is_full or pairs[high + 1] - pairs[low] > MOST_PAIRS:
            yield low, high
            low = high


def pairs_of(regions: Regions, haplotypes: Haplotypes, low: int, high: int) -> tuple[ndarray, ndarray]:
    """Reads (rows) and haplotypes of all pairs of regions [low, high), row by row; int32 each."""
    reads = np.diff(regions.read_offsets[low : high + 1])
    per_row = np.repeat(np.diff(haplotypes.haplotype_offsets[low : high + 1]), reads)
    first = np.repeat(haplotypes.haplotype_offsets[low:high], reads)
    pair_read = np.repeat(np.arange(per_row.size) + regions.read_offsets[low], per_row)
    within = np.arange(pair_read.size) - np.repeat(offsets_of(per_row)[:-1], per_row)
    return pair_read.astype(np.int32), (np.repeat(first, per_row) + within).astype(np.int32)


def _rows(regions: Regions, reads: AlignedReads, qualities: ndarray) -> ReadRows:
    """The bases that take part, with penalties by their whole read's context."""
    gap_open, gap_extend = gap_penalties(reads.bases, reads.read_offsets, np.unique(regions.read))
    offsets = offsets_of(regions.base_stop - regions.base_start)
    out = np.empty((4, int(offsets[-1])), np.uint8)
    cut(regions.base_start, offsets, reads.bases, qualities, gap_open, gap_extend, out)
    return ReadRows(out[0], out[1], out[2], out[3], offsets)


@kernel
def cut(base_start, offsets, bases, qualities, gap_open, gap_extend, out):
    for r in range(base_start.size):
        for i in range(offsets[r + 1] - offsets[r]):
            source, target = base_start[r] + i, offsets[r] + i
            out[0, target], out[1, target] = bases[source], qualities[source]
            out[2, target], out[3, target] = gap_open[source], gap_extend[source]


@kernel
def hide_neighbours(
    places, start, stop, read_offsets, read, base_start, base_stop, position, cigar, cigar_offsets, base_offsets,
    row_offsets, qualities,
):  # fmt: skip
    """Set the qualities of rows to 0 at those of the places (ascending) that lie outside of their region."""
    for g in range(start.size):
        for r in range(read_offsets[g], read_offsets[g + 1]):
            p, q = position[read[r]], base_offsets[read[r]]
            for i in range(cigar_offsets[read[r]], cigar_offsets[read[r] + 1]):
                operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
                if is_match(operation):
                    k = np.searchsorted(places, p)
                    while k < places.size and places[k] < p + length:
                        base = q + places[k] - p
                        is_own = start[g] <= places[k] < stop[g]
                        if not is_own and base_start[r] <= base < base_stop[r]:
                            qualities[row_offsets[r] + base - base_start[r]] = 0
                        k += 1
                    p, q = p + length, q + length
                elif operation in (INSERTION, SOFT_CLIP):
                    q += length
                elif operation < SOFT_CLIP:
                    p += length
