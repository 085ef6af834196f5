"""Haplotypes aligned to the reference's span, and spelled as variants.

A common beginning and end never cost an alignment with affine gaps anything, so only what is between is aligned. What
the user asks for is spelled as asked, whatever its alignment would be.
"""

import numpy as np

from readwarp.call.haplotypes import COSTS
from readwarp.call.haplotypes.alleles import BEGIN, DELETED, INSERTED, SOURCE
from readwarp.call.haplotypes.rows import NOT_ASKED, Rows, close_row, copy
from readwarp.call.pileup import MAX_INDEL
from readwarp.device.jit import kernel
from readwarp.pairwise.cpu import score_pairs, trace_pairs
from readwarp.pairwise.pairs import Pairs
from readwarp.pairwise.scalar import GLOBAL
from readwarp.rules.cigar import DELETION, MATCH

Variants = tuple[np.ndarray, ...]  # begin in the reference, deleted, inserted, their offsets, offsets per row
Alleles = tuple[np.ndarray, np.ndarray, int]  # the table that `asked` of rows names, inserted bases, reference's start


def spell_rows(
    rows: Rows,
    kept: np.ndarray,
    spans: np.ndarray,
    places: np.ndarray,
    reference: np.ndarray,
    alleles: Alleles,
    out: Rows,
) -> Variants:
    """Add the haplotypes of `kept` rows to `out`, as their variants make them; returns the variants of each.

    `places` int64 [g, 2]: where variants of each region begin, in `reference`.
    """
    bases, offsets, region = rows[0], rows[1], rows[2]
    target, size, query, length = np.empty((4, kept.size), np.int64)
    trim(bases, offsets, region, kept, spans, reference, target, size, query, length)
    pairs = Pairs(bases, query, length, reference, target, size)
    ends = score_pairs(pairs, COSTS, GLOBAL)
    traces = trace_pairs(pairs, COSTS, GLOBAL, ends)
    most = int(traces.cigar.size + np.minimum(length, size).sum())
    begin, deleted = np.empty((2, most), np.int64)
    inserted = np.empty(int(length.sum()), np.uint8)
    inserted_offsets, variant_offsets = np.zeros(most + 1, np.int64), np.zeros(kept.size + 1, np.int64)
    variants = (begin, deleted, inserted, inserted_offsets, variant_offsets)
    found = spell_all(
        *(rows, kept, target, query, traces.cigar, traces.cigar_offsets, spans, places, reference, alleles),
        *(variants, out),
    )
    return begin, deleted, inserted, inserted_offsets, variant_offsets[: found + 1]


@kernel
def trim(bases, offsets, region, kept, spans, reference, target, size, query, length):
    """What is left of each row and its span without their common beginning and end."""
    for i in range(kept.size):
        low, high = spans[region[kept[i]], 0], spans[region[kept[i]], 1]
        first, stop = offsets[kept[i]], offsets[kept[i] + 1]
        while low < high and first < stop and reference[low] == bases[first]:
            low, first = low + 1, first + 1
        while low < high and first < stop and reference[high - 1] == bases[stop - 1]:
            high, stop = high - 1, stop - 1
        target[i], size[i], query[i], length[i] = low, high - low, first, stop - first


@kernel
def spell_all(rows, kept, target, query, cigar, cigar_offsets, spans, places, reference, alleles, variants, out):
    """Write the variants of each row and the haplotype that they make, unless one is too long or at the span's ends."""
    begin, deleted, inserted, inserted_offsets, variant_offsets = variants
    bases, _, region, support, asked, _ = rows
    number, done = np.int64(0), np.int64(0)
    for i in range(kept.size):
        row, g = kept[i], region[kept[i]]
        if asked[row] != NOT_ASKED:
            fits, after = True, spell_asked(asked[row], alleles, number, variants)
        else:
            runs = cigar[cigar_offsets[i] : cigar_offsets[i + 1]]
            after = find_variants(
                runs, bases, query[i], reference, target[i], number, begin, deleted, inserted, inserted_offsets
            )
            fits, after = normalise(
                number, after, spans[g], places[g], reference, begin, deleted, inserted, inserted_offsets
            )
        if fits and after > number:
            rebuild(g, spans[g], reference, number, after, support[row], asked[row], variants, out)
            number, done = after, done + 1
            variant_offsets[done] = number
    return done


@kernel
def spell_asked(allele, alleles, number, variants):
    """Append an allele of the table; returns the number of variants.

    There is room: it inserts no more bases than are left of its row without the ends that it shares with its span.
    """
    table, bases, start = alleles
    begin, deleted, inserted, inserted_offsets, _ = variants
    first, size, place = table[allele, SOURCE], table[allele, INSERTED], inserted_offsets[number]
    begin[number], deleted[number] = table[allele, BEGIN] - start, table[allele, DELETED]
    inserted_offsets[number + 1] = copy(bases, first, first + size, inserted, place)
    return number + 1


@kernel
def find_variants(runs, bases, q, reference, p, number, begin, deleted, inserted, inserted_offsets):
    """Append what the runs of an alignment show; returns the number of variants.

    Neighbouring gaps are one variant, or substitutions where as many bases are inserted as deleted.
    """
    i = 0
    while i < runs.size:
        taken, gone = np.int64(0), np.int64(0)
        is_match = runs[i] & 15 == MATCH
        while i < runs.size and (runs[i] & 15 == MATCH) == is_match:
            taken += 0 if runs[i] & 15 == DELETION else np.int64(runs[i] >> 4)
            gone += np.int64(runs[i] >> 4) if runs[i] & 15 == DELETION or is_match else 0
            i += 1
        place = inserted_offsets[number]
        if taken == gone:
            for step in range(taken):
                if bases[q + step] != reference[p + step]:
                    begin[number], deleted[number], inserted[place] = p + step, 1, bases[q + step]
                    number, place = number + 1, place + 1
                    inserted_offsets[number] = place
        else:
            begin[number], deleted[number] = p, gone
            copy(bases, q, q + taken, inserted, place)
            number += 1
            inserted_offsets[number] = place + taken
        p, q = p + gone, q + taken
    return number


@kernel
def normalise(first, stop, span, places, reference, begin, deleted, inserted, inserted_offsets):
    """Move variants [first, stop) left, keep those that begin in `places`; returns (whether all fit, their end)."""
    kept, barrier = first, span[0]  # nothing moves to before the barrier
    for v in range(first, stop):
        source, size = inserted_offsets[v], inserted_offsets[v + 1] - inserted_offsets[v]
        place, p, gone = inserted_offsets[kept], begin[v], deleted[v]
        is_gap = gone != size
        for i in range(size):
            inserted[place + i] = inserted[source + i]
        while is_gap and (gone == 0 or size == 0) and p > barrier:
            base = reference[p - 1]
            if (size == 0 and base != reference[p - 1 + gone]) or (size > 0 and base != inserted[place + size - 1]):
                break
            for i in range(size - 1):
                inserted[place + size - 1 - i] = inserted[place + size - 2 - i]
            if size > 0:
                inserted[place] = base
            p -= 1
        if not places[0] <= p < places[1] or has_unknown(inserted, place, size) or has_unknown(reference, p, gone):
            continue
        if is_gap and (p <= span[0] or p + gone >= span[1] or max(gone, size) > MAX_INDEL):
            return False, first
        begin[kept], deleted[kept] = p, gone
        kept += 1
        inserted_offsets[kept] = place + size
        barrier = p + gone + (1 if is_gap else 0)
    return True, kept


@kernel
def has_unknown(bases, first, size):
    found = False
    for i in range(first, first + size):
        found |= bases[i] > 3
    return found


@kernel
def rebuild(region, span, reference, first, stop, support, asked, variants, out):
    """Add the haplotype that variants [first, stop) make of the reference's span."""
    begin, deleted, inserted, inserted_offsets, _ = variants
    bases, used = out[0], out[-1]
    place, p = used[1], span[0]
    for v in range(first, stop):
        place, p = copy(reference, p, begin[v], bases, place), begin[v] + deleted[v]
        place = copy(inserted, inserted_offsets[v], inserted_offsets[v + 1], bases, place)
    place = copy(reference, p, span[1], bases, place)
    close_row(out, region, place, support, asked)
