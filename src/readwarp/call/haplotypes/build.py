"""Haplotypes of a window's regions: assembled, combined, united, aligned, ranked."""

import numpy as np
from numpy import ndarray

from readwarp.batches import AlignedReads, Haplotypes, Regions, Sites, Status, Window
from readwarp.call.haplotypes import MAX_HAPLOTYPES, MAX_LONGER, MAX_WAYS, SIZES
from readwarp.call.haplotypes.alleles import alleles_of, combine
from readwarp.call.haplotypes.assembly import assemble
from readwarp.call.haplotypes.drafts import NOT_ASKED, Drafts, Spans, new_drafts, rank, spans_of, unite
from readwarp.call.haplotypes.graph import Graph, new_graph
from readwarp.call.haplotypes.groups import Groups, group_reads
from readwarp.call.haplotypes.variants import Variants, spell_drafts
from readwarp.ragged import concatenate, offsets_of, replace, take


def build_haplotypes(regions: Regions, reads: AlignedReads, sites: Sites, window: Window) -> Haplotypes:
    """See the step's contract."""
    spans = spans_of(regions, window.bases, window.first)
    alleles, bounds = alleles_of(sites, regions, window.first)
    groups = group_reads(regions, reads, int(reads.sample.max(initial=0)) + 1)
    drafts = room_for(groups, spans, np.diff(bounds, axis=1).ravel())
    assemble(groups, spans, reads, window.bases, np.array(SIZES), graph_for(groups, spans), drafts)
    combine(groups, alleles, bounds, spans, reads, window, drafts)
    drafts = take(drafts, "drafts", unite(drafts, asked_first(drafts), spans, window.bases))
    spelled, variants = spell_drafts(drafts, spans, alleles, window.bases)
    order = rank(spelled, unite(spelled, np.arange(spelled.used[0]), spans, window.bases), MAX_HAPLOTYPES - 1)
    return gather(spelled, variants, order, spans, window)


def room_for(groups: Groups, spans: Spans, alleles: ndarray) -> Drafts:
    """Room for all that the groups can give: ways of both kinds, and each of so many alleles of a region by itself."""
    number, regions = 2 * MAX_WAYS + alleles[groups.region], len(spans)
    bases = int((number * (spans.high - spans.low + MAX_LONGER)[groups.region]).sum())
    return new_drafts(int(number.sum()), bases, np.zeros(regions, np.int64), np.zeros(regions, bool))


def asked_first(drafts: Drafts) -> ndarray:
    """Drafts by region, those asked for before others: of equal ones the first one's spelling remains."""
    used = drafts.used[0]
    return np.lexsort((drafts.asked[:used] == NOT_ASKED, drafts.region[:used]))


def graph_for(groups: Groups, spans: Spans) -> Graph:
    """With room for the k-mers of any group."""
    bases = np.diff(offsets_of(groups.base_stop - groups.base_start)[groups.read_offsets])
    return new_graph(int((bases + (spans.high - spans.low)[groups.region]).max(initial=1)))


def gather(drafts: Drafts, variants: Variants, order: ndarray, spans: Spans, window: Window) -> Haplotypes:
    """The reference's haplotype of each region, then those drafts in this order (by region)."""
    number = len(spans)
    own = [window.bases[low:high] for low, high in zip(spans.low, spans.high, strict=True)]
    references = Haplotypes(
        haplotype_offsets=np.arange(number + 1),
        bases=np.concatenate([*own, np.empty(0, np.uint8)]),
        base_offsets=offsets_of(spans.high - spans.low),
        support=drafts.reference_support.astype(np.int32),
        variant_offsets=np.zeros(number + 1, np.int64),
        begin=np.empty(0, np.int64),
        deleted=np.empty(0, np.int32),
        inserted=np.empty(0, np.uint8),
        inserted_offsets=np.zeros(1, np.int64),
        status=np.where(drafts.is_full, Status.CAPACITY, Status.OK).astype(np.uint8),
    )
    others = replace(
        references,
        bases=drafts.bases,
        base_offsets=drafts.base_offsets,
        support=drafts.support.astype(np.int32),
        variant_offsets=variants.variant_offsets,
        begin=variants.begin + window.first,
        deleted=variants.deleted.astype(np.int32),
        inserted=variants.inserted,
        inserted_offsets=variants.inserted_offsets,
    )
    both = concatenate((references, take(others, "haplotypes", order)), "haplotypes")
    region = np.concatenate((np.arange(number), drafts.region[order]))
    both = take(both, "haplotypes", np.argsort(region, kind="stable"))
    return replace(both, haplotype_offsets=offsets_of(np.bincount(region, minlength=number)))
