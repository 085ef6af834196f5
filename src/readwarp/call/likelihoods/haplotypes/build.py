"""Build the haplotypes of a window's regions: assemble, combine, merge, align, spell and rank them.

Haplotypes are aligned to the reference's span, and spelled as variants. With affine gaps, matching the common beginning
and end never costs anything, so only the part between is aligned. An allele that the user asks for is spelled as asked,
whatever its alignment would be.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Regions, Sites
from readwarp.call.candidates.pileup import MAX_INDEL, MAX_INSERTION
from readwarp.call.candidates.spelling import COSTS
from readwarp.call.likelihoods.batches import Haplotypes
from readwarp.call.likelihoods.haplotypes import MAX_LONGER, MAX_WAYS, SIZES
from readwarp.call.likelihoods.haplotypes.alleles import Alleles, alleles_of, combine, room_to_combine
from readwarp.call.likelihoods.haplotypes.assembly import assemble, room_to_assemble
from readwarp.call.likelihoods.haplotypes.drafts import (
    REFERENCE,
    Drafts,
    DraftSpans,
    add_draft,
    add_references,
    drop_unseen,
    new_drafts,
    rank,
    spans_of,
    unite,
)
from readwarp.call.likelihoods.haplotypes.graph import Graph, new_graph
from readwarp.call.likelihoods.haplotypes.ways import RegionReads, group_reads
from readwarp.call.places.bases import Window
from readwarp.compiler.jit import kernel
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.common.text import put_copy
from readwarp.pairwise.cpu import score_pairs, trace_pairs
from readwarp.pairwise.pairs import Pairs, Scheme
from readwarp.pairwise.scalar import GLOBAL
from readwarp.ragged import empty, offsets_of, replace, take
from readwarp.rules.cigar import MATCH, run_of
from readwarp.rules.statuses import Status


class DraftVariants(NamedTuple):
    """Variants of drafts."""

    variant_offsets: Annotated[ndarray, "int64 [drafts + 1] of variants"]
    begin: Annotated[ndarray, "int64 [variants]"]
    deleted: Annotated[ndarray, "int64 [variants]"]
    inserted: Annotated[ndarray, "uint8 [inserted bases]"]
    inserted_offsets: Annotated[ndarray, "int64 [variants + 1] of inserted bases"]


def spell_drafts(
    drafts: Drafts, spans: DraftSpans, alleles: Alleles, reference: ndarray
) -> tuple[Drafts, DraftVariants]:
    """Return the variants of drafts, and the drafts that they make; none that is too long, or equals the reference."""
    starts, lengths, targets, sizes = np.empty((4, len(drafts)), np.int64)
    pairs = Pairs(drafts.bases, starts, lengths, reference, targets, sizes)
    trim(drafts, spans, pairs)
    scheme = Scheme(COSTS, GLOBAL)
    traces = trace_pairs(pairs, scheme, score_pairs(pairs, scheme))
    room = int(traces.cigar.size + np.minimum(lengths, sizes).sum())
    variants = empty(DraftVariants, {"drafts": len(drafts), "variants": room, "inserted bases": int(lengths.sum())})
    variants.variant_offsets[0] = variants.inserted_offsets[0] = 0
    bases = int((np.diff(drafts.base_offsets) + (spans.high - spans.low)[drafts.region]).sum())
    out = replace(new_drafts(len(drafts), bases, 0), is_full=drafts.is_full)
    spell_all(drafts, pairs, traces, spans, alleles, variants, out)
    return out, replace(variants, variant_offsets=variants.variant_offsets[: out.used[0] + 1])


@kernel
def trim(drafts, spans, pairs):
    """Pair each draft with its span of the reference, both without their common beginning and end."""
    bases, starts, lengths, reference, targets, sizes = pairs
    for i in range(drafts.region.size):
        low, high = spans.low[drafts.region[i]], spans.high[drafts.region[i]]
        first, stop = drafts.base_offsets[i], drafts.base_offsets[i + 1]
        while low < high and first < stop and reference[low] == bases[first]:
            low, first = low + 1, first + 1
        while low < high and first < stop and reference[high - 1] == bases[stop - 1]:
            high, stop = high - 1, stop - 1
        starts[i], lengths[i], targets[i], sizes[i] = first, stop - first, low, high - low


@kernel
def spell_all(drafts, pairs, traces, spans, alleles, variants, out):
    """Write the variants of each draft and the haplotype they make, unless one is not allowed or none remains."""
    reference, number = pairs.targets, np.int64(0)
    for i in range(drafts.region.size):
        if drafts.asked[i] >= 0:
            are_allowed, stop = True, spell_asked(drafts.asked[i], alleles, number, variants)
        else:
            runs = traces.cigar[traces.cigar_offsets[i] : traces.cigar_offsets[i + 1]]
            stop = find_variants(runs, pairs.query_starts[i], pairs.target_starts[i], pairs, number, variants)
            are_allowed, stop = normalise(number, stop, drafts.region[i], spans, reference, variants)
        if are_allowed and (stop > number or drafts.asked[i] == REFERENCE):
            rebuild(i, number, stop, drafts, spans, reference, variants, out)
            number = stop
            variants.variant_offsets[out.used[0]] = number


@kernel
def spell_asked(i, alleles, number, variants):
    """Append allele i; return the number of variants.

    There is room: the allele inserts no more bases than its draft has between the ends shared with its span.
    """
    _, begin, deleted, inserted, inserted_offsets = variants
    first, place = alleles.source[i], inserted_offsets[number]
    begin[number], deleted[number] = alleles.begin[i], alleles.deleted[i]
    inserted_offsets[number + 1] = put_copy(alleles.bases, first, first + alleles.added[i], inserted, place)
    return number + 1


@kernel
def find_variants(runs, q, p, pairs, number, variants):
    """Append the variants of an alignment, whose runs begin at base q and position p; return the number of variants.

    Neighbouring gaps are one variant, or substitutions where they insert as many bases as they delete.
    """
    _, begin, deleted, inserted, inserted_offsets = variants
    i = 0
    while i < runs.size:
        taken, gone = np.int64(0), np.int64(0)
        is_match = runs[i] & 15 == MATCH
        while i < runs.size and (runs[i] & 15 == MATCH) == is_match:
            _, _, on_reference, on_query = run_of(runs[i])
            taken, gone = taken + on_query, gone + on_reference
            i += 1
        place = inserted_offsets[number]
        if taken == gone:
            for step in range(taken):
                if pairs.queries[q + step] != pairs.targets[p + step]:
                    begin[number], deleted[number], inserted[place] = p + step, 1, pairs.queries[q + step]
                    number, place = number + 1, place + 1
                    inserted_offsets[number] = place
        else:
            begin[number], deleted[number] = p, gone
            put_copy(pairs.queries, q, q + taken, inserted, place)
            number += 1
            inserted_offsets[number] = place + taken
        p, q = p + gone, q + taken
    return number


@kernel
def normalise(first, stop, region, spans, reference, variants):
    """Left-align variants [first, stop) and drop those that begin outside the region.

    Returns whether all are allowed (none too long, or at an end of the span), and the end of those that remain.
    """
    _, begin, deleted, inserted, inserted_offsets = variants
    low, high = spans.low[region], spans.high[region]
    start, end = spans.start[region], spans.stop[region]
    number, barrier = first, low  # nothing moves past the barrier
    for v in range(first, stop):
        source, size = inserted_offsets[v], inserted_offsets[v + 1] - inserted_offsets[v]
        place, p = inserted_offsets[number], begin[v]
        gone = deleted[v]
        is_gap = gone != size
        put_copy(inserted, source, source + size, inserted, place)
        if is_gap and (gone == 0 or size == 0):
            p = shift_left(p, gone, inserted[place : place + size], barrier, reference)
        known = gone if size > 0 else min(gone, 1)  # a deletion begins with a base that is known
        if not start <= p < end or has_unknown(inserted, place, size) or has_unknown(reference, p, known):
            continue
        if is_gap and (p <= low or p + gone >= high or gone > MAX_INDEL or size > MAX_INSERTION):
            return False, first
        begin[number], deleted[number] = p, gone
        number += 1
        inserted_offsets[number] = place + size
        barrier = p + gone + (1 if is_gap else 0)
    return True, number


@kernel
def shift_left(p, gone, inserted, barrier, reference):
    """Left-align a deletion or insertion, and rotate its bases; return its position."""
    size = inserted.size
    while p > barrier and reference[p - 1] == (inserted[size - 1] if size else reference[p - 1 + gone]):
        for i in range(size - 1, 0, -1):
            inserted[i] = inserted[i - 1]
        p -= 1
        if size:
            inserted[0] = reference[p]
    return p


@kernel
def has_unknown(bases, first, size):
    found = False
    for i in range(first, first + size):
        found |= bases[i] > 3
    return found


@kernel
def rebuild(draft, first, stop, drafts, spans, reference, variants, out):
    """Add the haplotype that variants [first, stop) make of the reference's span, with the draft's support."""
    _, begin, deleted, inserted, inserted_offsets = variants
    region, place = drafts.region[draft], out.used[1]
    p = spans.low[region]
    for v in range(first, stop):
        place, p = put_copy(reference, p, begin[v], out.bases, place), begin[v] + deleted[v]
        place = put_copy(inserted, inserted_offsets[v], inserted_offsets[v + 1], out.bases, place)
    place = put_copy(reference, p, spans.high[region], out.bases, place)
    add_draft(out, region, place, drafts.support[draft], drafts.asked[draft])


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
