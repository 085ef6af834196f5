"""Confidence in the reference compared with plain Python; blocks; the allele <NON_REF> of variant records."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, codes, offsets, random_sequence, reads_of, window_of
from helpers.making_sites import call_sites, made_calls
from helpers.vcf_checks import genotype_quality
from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.pileup import count_window
from readwarp.call.candidates.sites import MAX_TRACT
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import NOTHING, OTHER, log_match, log_mismatch
from readwarp.call.reads.gap_models import HIFI, NANOPORE, SHORT, slip_table
from readwarp.call.records.confidence import GQ_BANDS, MAX_UNIT, REACH
from readwarp.call.records.confidence.bands import (
    add_non_ref,
    count_gaps,
    find_called,
    find_repeats,
    reference_bands,
    unknown_bands,
)
from readwarp.call.records.genotypes.emitted import UNLISTED
from readwarp.call.records.genotypes.order import genotypes_of
from readwarp.config import CallParameters

PARAMETERS = CallParameters()


def bands_of(reads, sequence, start=0, stop=None, covered=None, ploidy=None, calls=None, model=SHORT):
    stop = len(sequence) if stop is None else stop
    covered = np.zeros(stop - start, bool) if covered is None else covered
    ploidy = np.full(stop - start, 2, np.int8) if ploidy is None else ploidy
    own = aligned_reads(reads)
    pileup = count_window(own, window_of(sequence), PARAMETERS)
    called = find_called(calls or made_calls([], [], []), window_of(sequence))
    return pileup, reference_bands(pileup, own, window_of(sequence, start, stop), covered, ploidy, (called, model))


def repeat_oracle(sequence: str, p: int) -> tuple[int, int, int]:
    """First and last base that a read must cover, and the Phred of an indel error."""
    low, high, phred = p, p + 1, 45
    for unit in range(1, MAX_UNIT + 1):
        for first in range(len(sequence)):
            last = first
            while last + unit < len(sequence) and "N" != sequence[last + unit] == sequence[last]:
                last += 1
            last += unit - 1  # the stretch [first, last] repeats itself
            if last - first + 1 < 2 * unit or not (first - 1 <= p <= last):
                continue
            if first and "N" != sequence[first - 1] == sequence[first - 1 + unit]:  # only a part
                continue
            low, high = min(low, first), max(high, last)
            slope = 2.2 if unit == 1 else 2.8
            phred = min(phred, round(max(10, 45 - slope * max(0, (last - first + 1) // unit - 4))))
    return max(low - REACH, 0), min(high + REACH, len(sequence) - 1), phred


def stretches(read: Read) -> list[dict[int, int]]:
    """Reference position -> index in the read, of each part of a read without a gap."""
    out: list[dict[int, int]] = [{}]
    for p, q, operation in read.aligned():
        if operation in "M=X":
            out[-1][p] = q
        elif operation not in "HP" or out[-1]:
            out.append({})
    return [part for part in out if part]


def oracle(reads: list[Read], sequence: str, pileup, p: int, ploidy: int) -> tuple[int, list[float]]:
    """Depth and PL before rounding at one position."""
    bases = [(b, s) for b, s in enumerate(zip(pileup.counts[p].sum(1), pileup.quality_sums[p].sum(1), strict=True))]
    depth = int(sum(number for _, (number, _) in bases))
    if depth == 0 or sequence[p] == "N":
        return depth, [0.0] * (ploidy + 1)
    own, own_sum = next(s for b, s in bases if b == "ACGT".index(sequence[p]))
    other = sum(n for b, (n, _) in bases if b < 4) - own
    other_sum = sum(s for b, (_, s) in bases if b < 4) - own_sum

    def odds(k, quality, share):
        e = min(0.75, 10 ** (-quality / 10))
        return 10 * math.log10(((ploidy - k) * (1 - e) + k * e * share) / ploidy)

    first, last, phred = repeat_oracle(sequence, p)
    spanning = sum(
        first in part and last in part and read.qualities[part[p]] > 0 for read in reads for part in stretches(read)
    )
    gaps = int(count_gaps(pileup, p, p + 1)[0])
    by_base, by_gap = [], []
    for k in range(ploidy + 1):
        matches = odds(k, own_sum // own, 1 / 3) * own if own and k < ploidy else -own_sum - 10 * math.log10(3) * own
        others = -other_sum - 10 * math.log10(3) * other
        if k and other:
            others = odds(ploidy - k, other_sum // other, 1 / 3) * other
        by_base.append(matches + others)
        by_gap.append(spanning * odds(k, phred, 1) + gaps * odds(ploidy - k, phred, 1))
    losses = [[values[0] - value for value in values] for values in (by_base, by_gap)]
    kind = 1 if min(losses[1][1:]) < min(losses[0][1:]) - 1e-9 else 0
    return depth, [max(0.0, loss) for loss in losses[kind]]


def expand(bands):
    return {p: i for i in range(len(bands)) for p in range(bands.start[i], bands.stop[i])}


@st.composite
def references_with_reads(draw):
    sequence = draw(st.text("AC", min_size=25, max_size=50))
    return sequence[:10] + "N" + sequence[11:], draw(reads_of(len(sequence), 20, "ACN"))


@settings(max_examples=40)
@given(references_with_reads(), st.integers(1, 3))
def test_equals_plain_python(made, ploidy):
    sequence, reads = made
    copies, reads = np.full(len(sequence), ploidy, np.int8), sorted(reads, key=lambda r: r.position)
    for parity in (0, 1):  # every second position, so that each is a block
        covered = np.arange(len(sequence)) % 2 != parity
        pileup, bands = bands_of(reads, sequence, covered=covered, ploidy=copies)
        assert bands.start.tolist() == list(range(parity, len(sequence), 2))
        assert bands.stop.tolist() == [p + 1 for p in bands.start]
        for i, p in enumerate(bands.start.tolist()):
            depth, phred = oracle(reads, sequence, pileup, p, ploidy)
            assert bands.depth_sum[i] == bands.min_depth[i] == depth
            assert np.allclose(bands.likelihoods[i], phred, rtol=0, atol=0.5 + 1e-6)
            quality = min(99, *bands.likelihoods[i, 1:].tolist())
            unknown = depth == 0 or sequence[p] == "N"
            assert bands.band[i] == (-1 if unknown else sum(quality >= low for low in GQ_BANDS) - 1)


@settings(max_examples=60)
@given(st.text("ACN", min_size=1, max_size=60))
def test_repeats_equal_plain_python(sequence):
    found = list(
        zip(*(column.tolist() for column in find_repeats(window_of(sequence), slip_table(SHORT))), strict=True)
    )
    assert found == [repeat_oracle(sequence, p) for p in range(len(sequence))]


def test_no_read_speaks_across_a_long_repeat():
    sequence = random_sequence(40) + "A" * (MAX_TRACT + 1) + random_sequence(40, 2)
    low = find_repeats(window_of(sequence), slip_table(SHORT)).first
    assert (low[60:200] < -(1 << 20)).all() and (low[:30] >= 0).all()


def errorless(sequence: str, number: int, start=0, stop=None) -> list[Read]:
    text = sequence[start:stop]
    return [Read(start, f"{len(text)}M", text, (30,) * len(text), 16 * (i % 2), 60, f"r{i}") for i in range(number)]


def test_thirty_reads_are_sure():
    sequence = random_sequence(100, seed=4)
    _, bands = bands_of(errorless(sequence, 30), sequence)
    assert len(bands) == 1 and (bands.start[0], bands.stop[0]) == (0, 100)
    assert bands.depth_sum[0] == 3000 and bands.min_depth[0] == 30
    assert bands.likelihoods[0].tolist()[:2] == [0, 90]  # 30 reads x 10 log10(2)


@pytest.mark.parametrize("ploidy", [1, 2, 4])
def test_a_variant_without_a_call_is_not_sure(ploidy):
    sequence = random_sequence(100, seed=4)
    changed = sequence[:50] + "ACGT"["CGTA".index(sequence[50])] + sequence[51:]
    reads = errorless(sequence, 15) + errorless(changed, 15)
    _, bands = bands_of(reads, sequence, ploidy=np.full(100, ploidy, np.int8))
    at = expand(bands)[50]
    assert bands.likelihoods[at, 1:].min() == 0 and bands.band[at] == 0
    assert bands.band[expand(bands)[40]] > 2


def test_a_homopolymer_is_less_sure_and_reads_that_end_inside_do_not_count():
    sequence = random_sequence(60, seed=4) + "A" * 20 + "C" + random_sequence(59, seed=5)
    _, whole = bands_of(errorless(sequence, 23), sequence)
    inside, outside = expand(whole)[70], expand(whole)[30]
    assert whole.likelihoods[inside, 1:].min() < whole.likelihoods[outside, 1:].min()
    _, half = bands_of(errorless(sequence, 15, 0, 75) + errorless(sequence, 15, 65), sequence)
    middle = expand(half)[70]
    assert half.likelihoods[middle].tolist() == [0, 0, 0] and half.depth_sum[middle] > 0
    assert half.band[expand(half)[30]] > 2


@pytest.mark.parametrize("length", [5, 8])
@pytest.mark.parametrize("model", [HIFI, NANOPORE])
def test_a_homopolymer_is_as_sure_as_the_platform_allows(model, length):
    """A read says no more than that it did not slip, and slips as frequent as usual are no other allele."""
    sequence, number = random_sequence(60, seed=4) + "C" + "A" * length + "C" + random_sequence(60, seed=5), 40
    first, fall, least = model.slips[0]
    slip = 10 ** (-0.1 * round(max(least, first - fall * (length - model.repeats))))
    text, slipped = sequence[:61] + sequence[62:], round(number * slip)
    gap = [Read(0, f"61M1D{len(text) - 61}M", text, (30,) * len(text), 0, 60, f"s{i}") for i in range(slipped)]

    def claimed(reads, model) -> int:
        _, bands = bands_of(reads, sequence, model=model)
        return bands.likelihoods[expand(bands)[61], 1]

    whole = errorless(sequence, number)
    assert claimed(whole, model) == pytest.approx(10 * number * math.log10(2 * (1 - slip)), abs=0.5)
    assert claimed(whole, model) < claimed(whole, SHORT)
    expected = (number - slipped) * math.log10(2 * (1 - slip)) + slipped * math.log10(2 * slip)
    assert claimed(whole[slipped:] + gap, model) == pytest.approx(10 * expected, abs=0.5) and expected > 0
    assert slipped < 5 or claimed(whole[slipped:] + gap, SHORT) == 0


def test_a_deletion_is_no_evidence_for_the_reference():
    sequence = random_sequence(100, seed=4)
    gap = [Read(0, "50M3D47M", sequence[:50] + sequence[53:], (30,) * 97, 0, 60, f"d{i}") for i in range(10)]
    _, bands = bands_of(errorless(sequence, 10) + gap, sequence)
    at = expand(bands)
    assert [bands.band[at[p]] for p in (50, 51, 52)] == [0, 0, 0]
    assert min(bands.band[at[p]] for p in (30, 70)) >= 3


@pytest.mark.parametrize("cigar, at", [("50M1D49M", 50), ("52M1D47M", 52), ("50M1I50M", 50)])
def test_a_gap_with_a_record_is_not_against_the_reference_beside_it(cigar, at):
    """Where a homozygous deletion or insertion was called, all reads agree; aligners may place it further right."""
    sequence = random_sequence(49, seed=4) + "CTTTG" + random_sequence(46, seed=5)
    text = sequence[:50] + "T" + sequence[50:] if "I" in cigar else sequence[:at] + sequence[at + 1 :]
    reads = [Read(0, cigar, text, (30,) * len(text), 16 * (i % 2), 60, f"r{i}") for i in range(30)]
    alleles = ("C", "CT") if "I" in cigar else ("CT", "C")
    covered = np.zeros(100, bool)
    covered[49 : 49 + len(alleles[0])] = True
    calls = made_calls([49], [alleles], [(1, 1)])
    _, bands = bands_of(reads, sequence, covered=covered, calls=calls)
    assert all(bands.likelihoods[i].tolist()[:2] == [0, 90] for p, i in expand(bands).items() if p != at)
    _, without = bands_of(reads, sequence, covered=covered)
    assert without.likelihoods[expand(without)[54], 1] == 0


def test_blocks_end_at_records_and_where_the_ploidy_changes():
    sequence = random_sequence(100, seed=4)
    covered, ploidy = np.zeros(80, bool), np.full(80, 2, np.int8)
    covered[[0, 30, 31, 79]] = True
    ploidy[50:] = 1
    _, bands = bands_of(errorless(sequence, 30), sequence, 10, 90, covered, ploidy)
    spans = list(zip(bands.start.tolist(), bands.stop.tolist(), bands.ploidy.tolist(), strict=True))
    assert spans == [(11, 40, 2), (42, 60, 2), (60, 89, 1)]
    assert bands.likelihoods[2, 2] == 0
    everything = np.ones(80, bool)
    assert len(bands_of(errorless(sequence, 30), sequence, 10, 90, everything, ploidy)[1]) == 0


def test_without_reads_nothing_is_known():
    _, bands = bands_of([], "ACGTNACGT")
    assert (len(bands), bands.band[0], bands.depth_sum[0]) == (1, -1, 0) and not bands.likelihoods.any()


def site(is_indel: bool, alleles: list[tuple[int, str]], unit=1, stop=1) -> Sites:
    return Sites(
        contig=0,
        begin=np.array([10]),
        stop=np.array([10 + stop]),
        is_indel=np.array([is_indel]),
        unit=np.array([unit], np.int32),
        allele_offsets=offsets([len(alleles)]),
        deleted=np.array([d for d, _ in alleles], np.int32),
        inserted=codes("".join(b for _, b in alleles)),
        inserted_offsets=offsets(len(b) for _, b in alleles),
        is_forced=np.zeros(len(alleles), bool),
        reach=np.ones(len(alleles)),
    )


def rows(table, shown, quality) -> Likelihoods:
    n = len(table)
    return Likelihoods(
        pair_offsets=offsets([n]),
        read=np.arange(n, dtype=np.int32),
        allele=np.array(shown, np.int8),
        quality=np.array(quality, np.uint8),
        mapping_quality=np.full(n, 40, np.uint8),
        strand=np.zeros(n, np.uint8),
        sample=np.zeros(n, np.uint16),
        end_distance=np.zeros(n, np.int32),
        value_offsets=offsets([sum(map(len, table))]),
        values=np.array([v for row in table for v in row]),
    )


def test_non_ref_of_a_substitution():
    match, miss = log_match(30), log_mismatch(30)
    unlisted = log_mismatch(40)  # quality 60, mapping quality 40
    table = [[match, miss], [miss, match], [unlisted, unlisted], [0.0, 0.0], [-0.1, -0.1]]
    given = rows(table, [0, 1, OTHER, NOTHING, OTHER], [30, 30, 60, 30, 30])
    sites, out = add_non_ref(site(False, [(1, "A"), (1, "C")]), given, SHORT)
    assert sites.inserted.tolist() == [0, 1, UNLISTED] and sites.allele_offsets.tolist() == [0, 3]
    assert sites.deleted.tolist() == [1, 1, 1] and sites.inserted_offsets.tolist() == [0, 1, 2, 3]
    values = out.values.reshape(5, 3)
    assert values[:, :2].tolist() == [list(row) for row in table]
    assert values[:, 2].tolist() == [miss, miss, log_match(40), 0.0, -0.1]
    assert given.values.size == 10


def test_non_ref_of_an_indel():
    table = [[-0.5, -3.0], [-4.0, -0.2], [0.0, 0.0]]
    sites, out = add_non_ref(site(True, [(0, ""), (2, "")], 1, 12), rows(table, [0, 1, NOTHING], [30, 30, 30]), SHORT)
    slip = -0.1 * (45 - 2.2 * 8)
    assert out.values.reshape(3, 3)[:, 2].tolist() == [-0.5 + slip, -0.2 + slip, 0.0]
    assert sites.deleted.tolist() == [0, 2, 0] and sites.inserted.tolist() == [UNLISTED]
    assert sites.inserted_offsets.tolist() == [0, 0, 0, 1]


def test_non_ref_of_no_site_and_of_sites_without_reads():
    empty = rows([], [], [])
    sites, out = add_non_ref(site(False, [(1, "A"), (1, "C")]), empty, SHORT)
    assert sites.allele_offsets.tolist() == [0, 3] and out.value_offsets.tolist() == [0, 0] and out.values.size == 0


@settings(max_examples=80)
@given(st.text("ACGT", max_size=25), st.integers(1, 3), st.booleans())
def test_records_are_those_of_a_vcf_with_one_more_allele(bases, ploidy, is_forced):
    """Alleles, genotype, QUAL, filters and the PLs of listed genotypes stay. The others are no better than the call."""
    match, miss = log_match(30), log_mismatch(30)
    table = [[match if base == allele else miss for allele in "ACG"] for base in bases]
    shown = ["ACG".index(base) if base != "T" else OTHER for base in bases]
    sites, given = site(False, [(1, "A"), (1, "C"), (1, "G")]), rows(table, shown, [30] * len(bases))
    sites.is_forced[1] = is_forced
    plain = call_sites(sites, given, ploidy=ploidy)
    calls = call_sites(*add_non_ref(sites, given, SHORT), ploidy=ploidy)
    assert len(plain) == len(calls) <= 1
    assert calls.alleles == [(*alleles, "<NON_REF>") for alleles in plain.alleles]
    assert (calls.position == plain.position).all() and (calls.quality == plain.quality).all()
    assert calls.genotype == plain.genotype and calls.filters == plain.filters
    for i, alleles in enumerate(plain.alleles):
        listed, every = genotypes_of(len(alleles), ploidy), genotypes_of(len(alleles) + 1, ploidy)
        assert calls.likelihoods[i][0][: len(listed)] == plain.likelihoods[i][0]
        assert len(calls.likelihoods[i][0]) == len(every) and min(calls.likelihoods[i][0]) == 0
        assert calls.allele_depth[i][0] == (*plain.allele_depth[i][0], 0)
        if bases:
            assert every[calls.likelihoods[i][0].index(0)] == calls.genotype[i][0]
            assert calls.genotype_quality[i, 0] == genotype_quality(calls.likelihoods[i][0], every)


def test_alleles_left_out_of_a_record_count_as_not_listed():
    match, miss = log_match(30), log_mismatch(30)
    table = [[match, miss, miss]] * 10 + [[miss, match, miss]] * 10 + [[miss, miss, match]] * 2
    given = rows(table, [0] * 10 + [1] * 10 + [2] * 2, [30] * 22)
    sites = site(False, [(1, "A"), (1, "C"), (1, "G")])
    calls = call_sites(*add_non_ref(sites, given, SHORT))
    assert calls.alleles == [("A", "C", "<NON_REF>")] and calls.depth.tolist() == [[22]]
    model = [[10 ** row[a] for a in range(3)] for row in table]
    scores = {g: sum(math.log10((row[g[0]] + row[g[1]]) / 2) for row in model) for g in genotypes_of(3, 2)}
    expected = [round(10 * (scores[0, 1] - scores[g])) for g in genotypes_of(3, 2)]
    assert calls.likelihoods[0][0] == tuple(expected)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=40),
    st.integers(0, 5),
    st.randoms(use_true_random=False),
)
def test_bands_without_reads_are_those_of_no_reads(positions, start, rng):
    """The shortcut for windows without reads gives what counting nothing does, with N, targets and ploidies."""
    covered, ploidy = (np.array(column) for column in zip(*positions, strict=True))
    sequence = "".join(rng.choices("ACGTN", k=start + len(positions) + 3))
    stop, ploidy = start + len(positions), ploidy.astype(np.int8)
    _, expected = bands_of([], sequence, start, stop, covered, ploidy)
    found = unknown_bands(window_of(sequence, start, stop), covered, ploidy)
    for name, values in expected._asdict().items():
        other = getattr(found, name)
        assert np.array_equal(other, values) and getattr(other, "dtype", None) == getattr(values, "dtype", None), name
