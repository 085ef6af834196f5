"""Join a substitution and an indel at one position into one record, as GATK's tools need it.

Let one sample have two records, s with alleles a and t with alleles b, each with <NON_REF> as its last. The joint
record has REF, <NON_REF> and an allele (a, b) for each pair on a haplotype. Where both are heterozygous without a
common phase, they are assumed to be on different haplotypes. At high ploidies, where all pairs would make more
genotypes than tables hold (`order.most_alleles`), pairs with the fewest reads are left out, and copies that have them
are unknown. A genotype G of pairs has

    PL(G) = PL_s(the first of each pair) + PL_t(the second of each pair)      less the minimum

as reads are independent evidence of a base and of a length. <NON_REF> is the best of the pairs that contain it. QUAL,
FILTER and INFO are those of the record with the higher QUAL (host only).
"""

from collections.abc import Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from readwarp.call.records.genotypes.calls import take_calls
from readwarp.call.records.genotypes.order import genotypes_of, most_alleles
from readwarp.call.records.genotypes.score import genotype_phred
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.gvcf import NON_REF

Pair = tuple[int, int]


class SampleCall(NamedTuple):
    """Call of one sample; its last allele is <NON_REF>."""

    alleles: tuple[str, ...]
    genotype: tuple[int, ...]
    phase_set: int
    phase_name: str
    depth: int
    depths: tuple[int, ...]
    phred: tuple[int, ...]
    strands: tuple[int, ...]
    independent: tuple[int, ...]
    squares: int


def join_places(calls: Calls) -> Calls:
    """Join calls of one sample, sorted by position, to at most one per position."""
    first = np.flatnonzero(np.append(True, np.diff(calls.position) > 0)[: len(calls)])
    bounds = list(pairwise([*first.tolist(), len(calls)]))
    if len(bounds) == len(calls):
        return calls
    leaders = [max(range(*bound), key=lambda i: calls.quality[i]) for bound in bounds]
    out = take_calls(calls, np.array(leaders))
    for row, (start, stop) in enumerate(bounds):
        if stop - start > 1:
            joint, leader = record_of(calls, start), record_of(calls, leaders[row])
            for other in range(start + 1, stop):
                joint = join_records(joint, record_of(calls, other))
            _put(out, row, joint, leader)
    return out


def record_of(calls: Calls, row: int) -> SampleCall:
    return SampleCall(
        alleles=calls.alleles[row],
        genotype=calls.genotype[row][0],
        phase_set=int(calls.phase_set[row, 0]),
        phase_name=calls.phase_name[row][0],
        depth=int(calls.depth[row, 0]),
        depths=calls.allele_depth[row][0],
        phred=calls.likelihoods[row][0],
        strands=tuple(calls.strands[row, 0].tolist()),
        independent=tuple(calls.independent[row, 0].tolist()),
        squares=int(calls.squares[row]),
    )


def _put(calls: Calls, row: int, joint: SampleCall, leader: SampleCall) -> None:
    """Put the joint record into its row. `leader`: the record it replaces."""
    calls.alleles[row], calls.genotype[row] = joint.alleles, (joint.genotype,)
    calls.allele_depth[row], calls.likelihoods[row] = (joint.depths,), (joint.phred,)
    calls.phase_set[row, 0], calls.phase_name[row] = joint.phase_set, (joint.phase_name,)
    calls.depth[row, 0], calls.squares[row] = joint.depth, joint.squares
    calls.strands[row, 0], calls.independent[row, 0] = joint.strands, joint.independent
    copies, phred = len(joint.genotype), np.array(joint.phred, np.int32)
    genotypes = np.array(genotypes_of(len(joint.alleles), copies), np.int8)
    calls.genotype_quality[row, 0] = genotype_phred(phred, genotypes, copies, int(phred.argmin()), False)
    calls.annotations["DP"][row] = joint.depth
    if joint.depth and leader.depth:
        calls.annotations["QD"][row] = round(calls.annotations["QD"][row] * leader.depth / joint.depth, 2)


def join_records(one: SampleCall, other: SampleCall) -> SampleCall:
    """Join two records of one position. The one with the longer REF is t of the module's text."""
    base, length = sorted((one, other), key=lambda record: max(map(len, record.alleles[:-1])))
    haplotypes, is_phased = pair_haplotypes(base, length)
    carried = sorted({pair for pair in haplotypes if min(pair) >= 0} | {(0, 0)}, key=lambda p: (p != (0, 0), p[::-1]))
    spelled = {pair: spell(base, length, pair) for pair in carried}
    names = list(dict.fromkeys(spelled.values()))  # two pairs may be one allele
    pairs = [next(pair for pair in carried if spelled[pair] == name) for name in names]
    if len(names) > (limit := most_alleles(len(haplotypes)) - 1):
        depths = join_depths(base, length, pairs)
        kept = sorted([0, *sorted(range(1, len(names)), key=lambda a: -depths[a])[: limit - 1]])
        names, pairs = [names[a] for a in kept], [pairs[a] for a in kept]
    known = {pair: names.index(name) for pair, name in spelled.items() if name in names}
    genotype = tuple(known.get(pair, -1) for pair in haplotypes)
    are_together = any(a and b for a, b in carried)
    depths = join_depths(base, length, pairs)
    most = max(base, length, key=lambda record: record.depth)
    depth = max(most.depth, sum(depths))
    return SampleCall(
        alleles=(*names, NON_REF),
        genotype=genotype if is_phased else tuple(sorted(genotype)),
        phase_set=max(base.phase_set, length.phase_set) if is_phased else -1,
        phase_name=(base.phase_name or length.phase_name) if is_phased else "",
        depth=depth,
        depths=(*depths, 0),
        phred=join_likelihoods(base, length, pairs),
        strands=join_strands(base.strands, length.strands, are_together),
        independent=join_strands(base.independent, length.independent, are_together),
        squares=round(most.squares * depth / most.depth) if most.depth else 0,
    )


def pair_haplotypes(base: SampleCall, length: SampleCall) -> tuple[list[Pair], bool]:
    """Pair the alleles of both on each copy; also return whether the copies are in the order of haplotypes."""
    first, second = base.genotype, length.genotype
    if -1 in first or -1 in second:  # one of them is unknown
        known = first if -1 in second else second
        pairs = [(a, 0) if -1 in second else (0, a) for a in known]
        return pairs, max(base.phase_set, length.phase_set) >= 0 and -1 not in known
    are_same = base.phase_set == length.phase_set
    is_phased = base.phase_set >= 0 and are_same
    if len(set(first)) == 1 or len(set(second)) == 1:
        is_phased = max(base.phase_set, length.phase_set) >= 0
    elif not is_phased:
        first, second = tuple(sorted(first)), tuple(sorted(second, reverse=True))
    return list(zip(first, second, strict=True)), is_phased


def spell(base: SampleCall, length: SampleCall, pair: Pair) -> str:
    """Return the allele with the base of one and the length of the other, over the longer REF."""
    reference = max(base.alleles[0], length.alleles[0], key=len)
    own, longer = (
        record.alleles[a] + reference[len(record.alleles[0]) :] for record, a in zip((base, length), pair, strict=True)
    )
    if not (pair[0] and pair[1]):
        return own if pair[0] else longer
    replaced = base.alleles[0]
    return base.alleles[pair[0]] + longer[len(replaced) :] if longer.startswith(replaced) else longer


def join_depths(base: SampleCall, length: SampleCall, pairs: Sequence[Pair]) -> list[int]:
    """Return AD of the pairs, the first of which is REF."""
    both = {pair: min(base.depths[pair[0]], length.depths[pair[1]]) for pair in pairs if pair[0] and pair[1]}
    out = []
    for pair in pairs[1:]:
        a, b = pair
        if pair in both:
            out.append(both[pair])
        elif a:
            out.append(max(0, base.depths[a] - sum(reads for other, reads in both.items() if other[0] == a)))
        else:
            out.append(max(0, length.depths[b] - sum(reads for other, reads in both.items() if other[1] == b)))
    beside = sum(reads for (a, _), reads in zip(pairs[1:], out, strict=True) if a == 0)
    return [max(0, base.depths[0] - beside), *out]


def join_strands(base: Sequence[int], length: Sequence[int], are_together: bool) -> tuple[int, ...]:
    """Return SB. Reads of other alleles are the same reads if the alleles share a haplotype."""
    combine = max if are_together else sum
    total = [max(base[k] + base[2 + k], length[k] + length[2 + k]) for k in range(2)]
    others = [min(total[k], combine((base[2 + k], length[2 + k]))) for k in range(2)]
    return (*(total[k] - others[k] for k in range(2)), *others)


def join_likelihoods(base: SampleCall, length: SampleCall, pairs: Sequence[Pair]) -> tuple[int, ...]:
    """Return PL over REF, the other pairs and <NON_REF>."""
    ploidy, last = len(base.genotype), (len(base.alleles) - 1, len(length.alleles) - 1)
    tables = [
        dict(zip(genotypes_of(len(record.alleles), ploidy), record.phred, strict=True)) for record in (base, length)
    ]
    every = product(range(last[0] + 1), range(last[1] + 1))
    unlisted = [pair for pair in every if pair[0] == last[0] or pair[1] == last[1]]
    found = []
    for genotype in genotypes_of(len(pairs) + 1, ploidy):
        values = []
        for free in unlisted:
            copies = [pairs[a] if a < len(pairs) else free for a in genotype]
            values.append(sum(table[tuple(sorted(copy[k] for copy in copies))] for k, table in enumerate(tables)))
            if len(pairs) not in genotype:
                break
        found.append(min(values))
    lowest = min(found)
    return tuple(value - lowest for value in found)
