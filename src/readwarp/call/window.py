"""The steps of calling, on one window of the reference.

    AlignedReads -> mates -> pileup -> sites -> evidence -> genotypes -> Calls

A window is read with MARGIN bases to spare on either side, beyond which nothing reaches into it; so its calls depend
neither on where windows end nor on threads.
"""

from dataclasses import dataclass, replace

import numpy as np

from readwarp.batches import AlignedReads, Calls, Pileup, Sites
from readwarp.call.evidence.cpu import weigh_indels, weigh_substitutions
from readwarp.call.genotypes.cpu import genotype_sites
from readwarp.call.genotypes.joining import joined
from readwarp.call.genotypes.overlaps import mark_overlaps
from readwarp.call.inputs import contig_length
from readwarp.call.mates.cpu import merge_mates
from readwarp.call.pileup import MAX_INDEL
from readwarp.call.sites.cpu import find_sites
from readwarp.call.sites.select import selected, within
from readwarp.call.targets import Target
from readwarp.config import CallParameters
from readwarp.device.backend import Backend
from readwarp.formats.aligned import AlignedReader, ReadFilter, RegionTooDeepError
from readwarp.index.bases import unpack
from readwarp.index.store import Reference
from readwarp.metrics import Metrics

MARGIN = 1024  # bases of pileup around a window ...
INDEL_MARGIN = 600  # ... those of it where an indel may mask bases within ...
CALL_MARGIN = MAX_INDEL + 1  # ... those whose calls may overlap one in the window
SMALLEST = 1024  # a window of this size is not cut further, however deep it is
BYTES_PER_BASE = 12  # of memory, for each base of the reads of a window, at the peak


@dataclass(frozen=True, slots=True)
class Caller:
    """What all windows share."""

    reference: Reference
    reader: AlignedReader
    contig_of_file: dict[int, int]  # reference contig -> number in the alignment file
    keep: ReadFilter
    parameters: CallParameters
    backend: Backend
    metrics: Metrics
    most_bases: int  # of reads in memory; deeper windows are cut

    def call(self, window: Target) -> Calls:
        """Calls whose position lies in the window."""
        contig, start, stop = window
        is_smallest = stop - start <= SMALLEST
        try:
            return self._call(window, None if is_smallest else self.most_bases)
        except RegionTooDeepError:
            middle = (start + stop) // 2
            halves = (Target(contig, start, middle), Target(contig, middle, stop))
        return joined([self.call(half) for half in halves], start, stop)

    def _call(self, window: Target, most_bases: int | None) -> Calls:
        contig, start, stop = window
        length = contig_length(self.reference, contig)
        low, high = max(0, start - MARGIN), min(length, stop + MARGIN)
        with self.metrics.time("read_alignments"):
            reads = self._reads(contig, low, high, most_bases)
        self.metrics.count("reads_used", int(((reads.position >= start) & (reads.position < stop)).sum()))
        self.metrics.count("bases_counted", 0)
        if len(reads) == 0:
            return joined((), start, stop)
        with self.metrics.time("mates"):
            reads = replace(reads, qualities=merge_mates(reads))
        bases, first = self._bases(contig, low, high, reads)
        pileup_step = self.backend.step("readwarp.call.pileup")
        with self.metrics.time("pileup"):
            pileup = pileup_step.count_window(reads, bases[low - first : high - first], low, high, self.parameters)
        self.metrics.count("bases_counted", int(pileup.counts[start - low : stop - low].sum()))
        with self.metrics.time("genotypes"):
            return self._genotype(reads, pileup, bases, first, window)

    def _genotype(self, reads: AlignedReads, pileup: Pileup, bases: np.ndarray, first: int, window: Target) -> Calls:
        p, low = self.parameters, pileup.start
        sites = find_sites(pileup, bases[low - first : pileup.stop - first], p)
        indels = _around(sites, sites.is_indel, window, INDEL_MARGIN)
        substitutions = _around(sites, ~sites.is_indel, window, CALL_MARGIN)
        for_indels, masked = weigh_indels(reads, pileup, indels, bases, first, p.max_depth)
        for_substitutions = weigh_substitutions(reads, masked, substitutions, p.min_base_quality, p.max_depth)
        parts = (
            genotype_sites(substitutions, for_substitutions, bases, first, p),
            genotype_sites(indels, for_indels, bases, first, p),
        )
        calls = mark_overlaps(joined(parts, window.start - CALL_MARGIN, window.stop + CALL_MARGIN))
        return joined((calls,), window.start, window.stop)

    def _reads(self, contig: int, low: int, high: int, most_bases: int | None) -> AlignedReads:
        number = self.contig_of_file.get(contig)
        if number is None:
            return replace(self.reader.nothing(low, high), contig=contig)
        return replace(self.reader.read(number, low, high, self.keep, most_bases), contig=contig)

    def _bases(self, contig: int, low: int, high: int, reads: AlignedReads) -> tuple[np.ndarray, int]:
        """Reference bases 0-4 of all that the reads may be compared with, and where they begin."""
        longest = int(np.diff(reads.read_offsets).max(initial=0)) + MARGIN
        first, last = max(0, low - longest), min(contig_length(self.reference, contig), high + longest)
        offset = int(self.reference.contig_offsets[contig])
        out = np.empty(last - first, np.uint8)
        unpack(self.reference.packed, offset + first, offset + last, out)
        return out, first


def _around(sites: Sites, chosen: np.ndarray, window: Target, margin: int) -> Sites:
    near = within(sites, window.start - margin, window.stop + margin)
    return selected(sites, np.flatnonzero(near & chosen))
