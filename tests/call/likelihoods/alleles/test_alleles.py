"""From haplotypes to alleles, compared with the rules of the contract in plain Python."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, codes, offsets, random_sequence
from readwarp.call.candidates.batches import Regions
from readwarp.call.candidates.sites import MAX_ALLELES
from readwarp.call.candidates.sites.find import sites_of
from readwarp.call.likelihoods.alleles import INDEL_COST, MAX_BEHIND, MAX_MISFIT, SNV_COST
from readwarp.call.likelihoods.alleles.compare import WeighedReads, compare, find_fragments
from readwarp.call.likelihoods.alleles.select import Copies, Selection, bound_fragments, select_haplotypes
from readwarp.call.likelihoods.alleles.weigh import number_variants, place_of, variants_of, weigh_haplotypes
from readwarp.call.likelihoods.batches import Haplotypes
from readwarp.call.likelihoods.evidence import NOTHING
from readwarp.call.likelihoods.pairhmm import ReadRows
from readwarp.call.likelihoods.pairhmm.cpu import log_likelihoods
from readwarp.call.places.bases import Window
from readwarp.call.reads.gap_models import SHORT
from readwarp.ragged import check, replace

REFERENCE = codes("ACGTACGTTTTTACGATCGATCGGCTAACGAT" * 4)
SNV_A, SNV_B = (30, 1, b"\x03"), (36, 1, b"\x02")
DELETION, INSERTION = (34, 4, b""), (40, 0, b"\x01\x01")


ONE_SAMPLE = np.zeros(1, np.int64), np.zeros(1, np.uint16)  # place and sample of one region


UNKNOWN = np.empty(0)  # odds of reads


def never(_: Haplotypes) -> WeighedReads:
    """No haplotype of another sample is compared where there is one sample."""
    raise AssertionError


def haplotypes_of(variants: list[list[tuple[int, int, bytes]]]) -> Haplotypes:
    """One region's haplotypes. This step does not look at their bases."""
    flat = [v for own in variants for v in own]
    return Haplotypes(
        haplotype_offsets=offsets([len(variants)]),
        bases=np.zeros(len(variants), np.uint8),
        base_offsets=offsets([1] * len(variants)),
        support=np.zeros(len(variants), np.int32),
        variant_offsets=offsets(map(len, variants)),
        begin=np.array([v[0] for v in flat], np.int64),
        deleted=np.array([v[1] for v in flat], np.int32),
        inserted=np.frombuffer(b"".join(v[2] for v in flat), np.uint8),
        inserted_offsets=offsets(len(v[2]) for v in flat),
        status=np.zeros(1, np.uint8),
    )


def region_of(reads: int, start: int = 20, stop: int = 60) -> Regions:
    one = np.array([start]), np.array([stop]), np.array([0]), np.array([100])
    spans = np.zeros((2, reads), np.int64)
    return Regions(
        0, *one, offsets([reads]), np.arange(reads, dtype=np.int32), *spans, np.zeros(1, np.uint8), *ONE_SAMPLE
    )


def weighed_of(regions: Regions, haplotypes: Haplotypes, table: np.ndarray, fragment: list[int] | None = None):
    """One region's table. The code under test does not look at the bases of its rows."""
    first = np.arange(len(table)) if fragment is None else np.array(fragment, np.int64)
    empty = np.empty(0, np.uint8)
    rows = ReadRows(empty, empty, empty, empty, np.zeros(len(table) + 1, np.int64))
    return WeighedReads(
        regions, haplotypes, rows, first, offsets([table.size]), table.ravel(), np.zeros(table.size, np.uint8)
    )


def weigh(table: list[list[float]], variants, ploidy=2, forced=frozenset(), reads=None, **span):
    """Sites as {(begin, is_indel): alleles} and each site's (pairs x alleles) table."""
    reads = reads or [Read(10, "60M", "A" * 60, (30,) * 60, name=f"r{i}") for i in range(len(table))]
    batch = aligned_reads(reads)
    weighed = weighed_of(region_of(len(reads), **span), haplotypes_of(variants), np.array(table, np.float64))
    window = Window(0, 0, REFERENCE.size, REFERENCE, 0)
    sites, out, phase, _ = weigh_haplotypes(
        weighed, never, batch, window, Copies(np.array([[ploidy]], np.int8), UNKNOWN), frozenset(forced)
    )
    check(out)
    found = {}
    for s in range(len(sites)):
        alleles = [
            (int(sites.deleted[a]), sites.inserted[sites.inserted_offsets[a] : sites.inserted_offsets[a + 1]].tobytes())
            for a in range(sites.allele_offsets[s], sites.allele_offsets[s + 1])
        ]
        values = out.values[out.value_offsets[s] : out.value_offsets[s + 1]].reshape(-1, len(alleles))
        found[int(sites.begin[s]), bool(sites.is_indel[s])] = alleles, values
    assert phase.allele.shape == (len(sites), 1, ploidy)
    return found, sites, out


def test_a_variant_must_earn_its_place():
    variants = [[], [SNV_A], [SNV_A, SNV_B], [SNV_B]]
    table = [[0.0, -4, -8, -4]] * 5 + [[-8.0, -4, 0, -4]] * 5
    found, _, _ = weigh(table, variants)
    assert list(found) == [(30, False), (36, False)]
    alleles, values = found[30, False]
    assert alleles == [(1, REFERENCE[30:31].tobytes()), (1, b"\x03")]
    assert values.tolist() == [[0.0, -4.5]] * 5 + [[-4.5, 0.0]] * 5


def test_one_misread_base_is_no_haplotype():
    found, _, out = weigh([[0.0, -3.5]] * 20 + [[-3.5, 0.0]], [[], [SNV_A]])
    assert found == {} and out.read.size == 0


def test_a_deleted_site_has_a_missing_base_as_allele():
    table = [[-9.0, 0.0, -9.0]] * 6 + [[-9.0, -9.0, 0.0]] * 6
    found, _, _ = weigh(table, [[], [DELETION], [SNV_B]])
    alleles, values = found[36, False]
    assert alleles[1:] == [(1, b"\x02"), (1, b"\x04")]
    assert values[0].tolist() == [-4.5, -4.5, 0.0] and values[-1].tolist() == [-4.5, 0.0, -4.5]
    assert found[34, True][0] == [(0, b""), (4, b"")]


def test_alleles_outside_the_region_belong_to_a_neighbour():
    table = [[-9.0, 0.0]] * 6
    found, _, _ = weigh(table, [[], [SNV_A, INSERTION]], start=20, stop=35)
    assert list(found) == [(30, False)]


def test_forced_alleles_are_sites_whatever_the_reads_say():
    found, sites, _ = weigh([[0.0, -9.0]] * 6, [[], [SNV_A]], forced={SNV_A})
    assert list(found) == [(30, False)] and sites.is_forced.tolist() == [False, True]


def test_the_limit_of_alleles_costs_no_forced_one():
    """Five insertions are forced where a deletion that stays removes the base: with it, seven alleles."""
    asked = [(36, 0, bytes([n, n])) for n in range(4)] + [(36, 0, b"\x00\x01\x02")]
    table = [[-9.0, 0.0, *[-9.0] * 6]] * 6 + [[0.0, -9.0, *[-9.0] * 6]] * 6
    unasked = (36, 0, b"\x03\x02\x01")
    found, sites, _ = weigh(table, [[], [DELETION], [unasked], *([variant] for variant in asked)], forced=asked)
    alleles, _ = found[36, True]
    assert len(asked) == MAX_ALLELES - 1
    assert alleles == [(0, b""), *(variant[1:] for variant in asked), (1, b"\x04")]
    assert sites.is_forced.sum() == len(asked)


def test_reads_that_do_not_reach_the_site_are_left_out():
    reads = [Read(p, "20M", "A" * 20, (30,) * 20, name=f"r{p}") for p in range(0, 60, 4)]
    _, _, out = weigh([[-9.0, 0.0]] * len(reads), [[], [SNV_A]], reads=reads)
    assert [reads[r].position for r in out.read] == [p for p in range(0, 60, 4) if p <= 30 < p + 20]


def test_a_read_that_fits_nothing_says_nothing():
    misfit = [-MAX_MISFIT - 1, -MAX_MISFIT - 9]
    _, _, out = weigh([[-9.0, 0.0]] * 6 + [misfit], [[], [SNV_A]])
    assert out.allele.tolist() == [1] * 6 + [NOTHING]


@given(st.data())
@settings(max_examples=60)
def test_selection_is_the_best_of_all_combinations(data):
    ploidy = data.draw(st.sampled_from([1, 2, 2, 3]))
    number = data.draw(st.integers(1, 4))
    pool = [SNV_A, SNV_B, DELETION, INSERTION]
    variants = [
        [],
        *data.draw(st.lists(st.lists(st.sampled_from(pool), unique=True), min_size=number, max_size=number)),
    ]
    rows = data.draw(st.integers(0, 12))
    table = (
        np.array(
            data.draw(
                st.lists(
                    st.lists(st.integers(-40, 0), min_size=number + 1, max_size=number + 1),
                    min_size=rows,
                    max_size=rows,
                )
            ),
            np.float64,
        ).reshape(rows, number + 1)
        / 10.0
    )
    odds = data.draw(st.just([]) | st.lists(st.floats(-3, 3), min_size=rows, max_size=rows), label="odds")
    haplotypes = haplotypes_of(variants)
    stays, chosen = np.zeros(number + 1, bool), np.zeros((1, ploidy), np.int32)
    select_haplotypes(
        weighed_of(region_of(rows), haplotypes, table.copy()),
        np.array([ploidy], np.int8),
        number_variants(haplotypes, variants_of(haplotypes)),
        Copies(np.array([[ploidy]], np.int8), np.array(odds or UNKNOWN)),
        Selection(np.ones(rows, bool), stays, chosen),
    )

    def score(combination):
        shares = [[1 / ploidy] * ploidy for _ in range(rows)]
        if odds and ploidy == 2:
            shares = [[10**own / (1 + 10**own), 1 / (1 + 10**own)] for own in odds]
        sums = (sum(w * 10.0 ** table[r, h] for w, h in zip(shares[r], combination, strict=True)) for r in range(rows))
        likelihood = sum(map(math.log10, sums))
        shown = {v for h in combination for v in variants[h]}
        return likelihood - sum(SNV_COST if v[1] == len(v[2]) else INDEL_COST for v in shown)

    scores = {c: score(c) for c in itertools.product(range(number + 1), repeat=ploidy)}
    best = max(scores.values())
    assert stays[0]
    if ploidy <= 2:
        assert scores[tuple(chosen[0].tolist())] == pytest.approx(best)
        assert rows or np.flatnonzero(stays).tolist() == [0]
        sure = {h for c, s in scores.items() if s >= best - MAX_BEHIND + 1e-9 for h in c} | {0}
        able = {h for c, s in scores.items() if s >= best - MAX_BEHIND - 1e-9 for h in c} | {0}
        assert not rows or sure <= set(np.flatnonzero(stays).tolist()) <= able
    else:
        mine = scores[tuple(sorted(chosen[0].tolist()))]
        for copy, h in itertools.product(range(ploidy), range(number + 1)):
            other = chosen[0].tolist()
            other[copy] = h
            assert scores[tuple(sorted(other))] <= mine + 1e-6


def test_bounds_follow_mapping_quality_and_fit():
    table = np.array([[-3.0, -20.0], [-30.0, -60.0]])
    weighed = weighed_of(region_of(2), haplotypes_of([[], [SNV_A]]), table)
    rows = ReadRows(*np.full((4, 8), 40, np.uint8), offsets([4, 4]))
    weighed = replace(weighed, rows=replace(rows, bases=np.zeros(8, np.uint8)))
    batch = aligned_reads([Read(0, "4M", "AAAA", (40,) * 4, name=name) for name in "ab"])
    informs = bound_fragments(weighed, replace(batch, mapping_quality=np.array([20, 60], np.uint8)))
    assert weighed.values.tolist() == [0.0, -2.0, 0.0, -4.5] and informs.tolist() == [True, False]


def test_mates_that_are_apart_are_one_observation():
    """Their likelihoods are multiplied, bounded by the better mapping quality, and counted once."""
    table = np.array([[-1.0, -3.0], [-30.0, -60.0], [-2.0, -2.5]])
    weighed = weighed_of(region_of(3), haplotypes_of([[], [SNV_A]]), table, [0, 1, 0])
    rows = ReadRows(*np.full((4, 12), 40, np.uint8), offsets([4, 4, 4]))
    weighed = replace(weighed, rows=replace(rows, bases=np.zeros(12, np.uint8)))
    batch = aligned_reads([Read(0, "4M", "AAAA", (40,) * 4, name=name) for name in "aba"])
    informs = bound_fragments(weighed, replace(batch, mapping_quality=np.array([10, 60, 60], np.uint8)))
    assert weighed.values.tolist() == [0.0, -2.5, 0.0, -4.5, 0.0, -2.5] and informs.tolist() == [True, False, True]
    mates = [Read(10, "60M", "A" * 60, (30,) * 60, name="m")] * 2
    _, _, out = weigh([[0.0, -4.0], [-4.0, 0.0], [-4.0, 0.0]], [[], [SNV_A]], reads=[*mates, replace_name(mates[0])])
    assert out.read.tolist() == [0, 1, 2]  # without `fragment` all of them count
    regions, batch = region_of(3), aligned_reads([*mates, replace_name(mates[0])])
    assert find_fragments(regions, batch).tolist() == [0, 0, 2]
    assert find_fragments(regions, replace(batch, sample=np.array([0, 1, 0], np.uint8))).tolist() == [0, 1, 2]
    weighed = weighed_of(regions, haplotypes_of([[], [SNV_A]]), np.array([[0.0, -4.0]] * 3), [0, 0, 2])
    window = Window(0, 0, REFERENCE.size, REFERENCE, 0)
    forced = frozenset([SNV_A])
    _, out, _, _ = weigh_haplotypes(weighed, never, batch, window, Copies(np.array([[2]], np.int8), UNKNOWN), forced)
    assert out.read.tolist() == [0, 2] and np.allclose(out.values.reshape(2, 2)[:, 1], [-4.5, -4.0])


def replace_name(read: Read) -> Read:
    return dataclasses.replace(read, name="other")


@pytest.mark.parametrize(
    ("cigar", "target", "place"),
    [("5S10M", 20, 5), ("5S10M", 17, 2), ("5S10M", 14, 0), ("10M5S", 32, 12), ("10M5S", 35, 14), ("5M3D5M", 26, 4)],
)
def test_place_of_goes_on_into_clips(cigar, target, place):
    size = 15 if "S" in cigar else 10
    batch = aligned_reads([Read(20, cigar, "A" * size, (30,) * size)])
    assert place_of(batch, 0, target, haplotypes_of([[]]), 0) == place


@pytest.mark.parametrize(
    ("cigar", "target", "place"),
    [
        ("5S10M", 29, 4),  # the base before the deletion, whose reads begin after it
        ("5S10M", 26, 1),
        ("5S10M", 20, 0),
        ("10M5S", 90, 10),  # a base after it
        ("10M5S", 93, 13),
        ("10M5S", 99, 14),
    ],
)
def test_clips_go_on_beyond_what_a_haplotype_deletes(cigar, target, place):
    """60 bases from 30 on. Where the alignment has two of them, they are equal to those on the other side."""
    position = 90 if cigar.startswith("5S") else 20
    batch = aligned_reads([Read(position, cigar, "A" * 15, (30,) * 15)])
    haplotypes = haplotypes_of([[], [(30, 60, b"")]])
    assert place_of(batch, 0, target, haplotypes, 1) == place


def some_regions(count: int = 5):
    """Regions with a reference haplotype and one with a longer insertion each, and reads of both."""
    sequence = random_sequence(100 * count + 100, 9)
    added = "GATTACAGATTACA"
    reads, haplotypes, spans = [], [], []
    for g in range(count):
        low = 100 * g
        plain = sequence[low : low + 100]
        haplotypes += [plain, plain[:50] + added + plain[50:]]
        spans.append((low + 40, low + 60, low, low + 100))
        reads += [Read(low + 10, "80M", plain[10:90], (30,) * 80, name=f"p{g}")]
        reads += [Read(low + 10, "40M14I26M", haplotypes[-1][10:90], (30,) * 80, name=f"i{g}")]
        reads += [Read(low + 2, "40M", plain[2:42], (30,) * 40, name=f"s{g}")]
    batch = aligned_reads(reads)
    owner = batch.position // 100
    columns = np.array(spans, np.int64).T
    regions = Regions(
        0, *columns, np.searchsorted(owner, np.arange(count + 1)), np.arange(len(batch), dtype=np.int32),
        batch.read_offsets[:-1], batch.read_offsets[1:], np.zeros(count, np.uint8), np.arange(count),
        np.zeros(count, np.uint16),
    )  # fmt: skip
    made = haplotypes_of([[], []] * count)
    text = codes("".join(haplotypes))
    made = replace(made, haplotype_offsets=offsets([2] * count), bases=text, base_offsets=offsets(map(len, haplotypes)))
    return regions, made, batch


def test_batches_of_regions_do_not_matter(monkeypatch):
    regions, haplotypes, batch = some_regions()
    sites = find_no_sites()
    whole = compare(regions, haplotypes, batch, sites, SHORT, log_likelihoods)
    monkeypatch.setattr("readwarp.call.likelihoods.alleles.compare.MAX_PAIRS", 7)
    parts = compare(regions, haplotypes, batch, sites, SHORT, log_likelihoods)
    assert whole.values.tobytes() == parts.values.tobytes() and whole.values.size == 5 * 3 * 2
    assert whole.cells.tolist() == [200 * 214] * 5


def test_a_longer_haplotype_is_none_the_less_likely():
    """Reads that end before the insertion say nothing, whatever its length."""
    regions, haplotypes, batch = some_regions()
    table = compare(regions, haplotypes, batch, find_no_sites(), SHORT, log_likelihoods).values.reshape(-1, 2)
    before = table[batch.position % 100 == 2]
    assert np.abs(before[:, 0] - before[:, 1]).max() < 1e-3
    assert (np.abs(table[batch.position % 100 != 2][:, 0] - table[batch.position % 100 != 2][:, 1]) > 3).all()


def test_a_neighbours_substitution_says_nothing():
    regions, haplotypes, batch = some_regions(1)
    changed = batch.bases.copy()
    place = int(batch.read_offsets[0]) + 5
    changed[place] = (changed[place] + 1) % 4
    site = int(batch.position[0]) + 5
    sites = replace(find_no_sites(), begin=np.array([site]), is_indel=np.array([False]))
    one = compare(regions, haplotypes, batch, sites, SHORT, log_likelihoods)
    other = compare(regions, haplotypes, replace(batch, bases=changed), sites, SHORT, log_likelihoods)
    assert np.abs(one.values - other.values).max() < 1e-6


def find_no_sites():
    empty = sites_of([], Window(0, 0, REFERENCE.size, REFERENCE, 0))
    return replace(empty, begin=np.empty(0, np.int64), is_indel=np.empty(0, bool))
