"""Build the haplotypes of a window's regions: assemble, combine, merge, align and rank them."""

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Regions, Sites
from readwarp.call.likelihoods.batches import Haplotypes
from readwarp.call.likelihoods.haplotypes import MAX_LONGER, MAX_WAYS, SIZES
from readwarp.call.likelihoods.haplotypes.alleles import alleles_of, combine, room_to_combine
from readwarp.call.likelihoods.haplotypes.assembly import assemble, room_to_assemble
from readwarp.call.likelihoods.haplotypes.drafts import (
    Drafts,
    DraftSpans,
    add_references,
    drop_unseen,
    new_drafts,
    rank,
    spans_of,
    unite,
)
from readwarp.call.likelihoods.haplotypes.graph import Graph, new_graph
from readwarp.call.likelihoods.haplotypes.variants import DraftVariants, spell_drafts
from readwarp.call.likelihoods.haplotypes.ways import RegionReads, group_reads
from readwarp.call.places.window import Window
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import offsets_of, take
from readwarp.rules.statuses import Status


def build_haplotypes(
    regions: Regions, reads: AlignedReads, sites: Sites, window: Window, ploidy: ndarray
) -> Haplotypes:
    """Build the haplotypes; see the step's contract."""
    spans = spans_of(regions, window, ploidy)
    alleles, bounds = alleles_of(sites, regions, window.first)
    groups = group_reads(regions, reads)
    drafts = room_for(groups, spans, np.diff(bounds, axis=1).ravel())
    add_references(spans, window.bases, drafts)
    room = room_to_assemble(groups, window.bases)
    assemble(groups, spans, reads, window.bases, np.array(SIZES), graph_for(groups, spans), room, drafts)
    combine(groups, alleles, bounds, spans, reads, window, room_to_combine(groups, bounds), drafts)
    drafts, variants = spell_drafts(take(drafts, "drafts", unite(drafts)), spans, alleles, window.bases)
    rows = drop_unseen(drafts, unite(drafts), regions.place)
    return gather(drafts, variants, rank(drafts, rows), window)


def room_for(groups: RegionReads, spans: DraftSpans, alleles: ndarray) -> Drafts:
    """Allocate drafts for each region's reference, for ways of both kinds, and for each allele by itself in each group.

    alleles: their number in each region.
    """
    number, sizes = 2 * MAX_WAYS + alleles[groups.region], spans.high - spans.low
    bases = sizes.sum() + (number * (sizes + MAX_LONGER)[groups.region]).sum()
    return new_drafts(len(spans) + int(number.sum()), int(bases), len(spans))


def graph_for(groups: RegionReads, spans: DraftSpans) -> Graph:
    """Allocate a graph for the k-mers of any group."""
    bases = np.diff(offsets_of(groups.base_stop - groups.base_start)[groups.read_offsets])
    return new_graph(int((bases + (spans.high - spans.low)[groups.region]).max(initial=1)))


def gather(drafts: Drafts, variants: DraftVariants, rows: ndarray, window: Window) -> Haplotypes:
    """Return the drafts `rows`, sorted by region, as Haplotypes."""
    every = Haplotypes(
        haplotype_offsets=np.searchsorted(drafts.region[rows], np.arange(drafts.is_full.size + 1)),
        bases=drafts.bases,
        base_offsets=drafts.base_offsets,
        support=drafts.support.astype(np.int32),
        variant_offsets=variants.variant_offsets,
        begin=variants.begin + window.first,
        deleted=variants.deleted.astype(np.int32),
        inserted=variants.inserted,
        inserted_offsets=variants.inserted_offsets,
        status=np.where(drafts.is_full, Status.CAPACITY, Status.OK).astype(np.uint8),
    )
    return take(every, "haplotypes", rows)
