"""Sites and what reads say about their alleles."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, codes, random_sequence, reads_of, window_of
from readwarp.call.evidence import MAX_WEIGHT, NOTHING, SEVERAL
from readwarp.call.evidence.scalar import log_indel_error, log_match, log_mismatch
from readwarp.call.evidence.substitutions import weigh_indels, weigh_substitutions
from readwarp.call.pileup.cpu import count_window
from readwarp.call.sites.find import find_sites
from readwarp.config import CallParameters
from readwarp.ragged import take

P = CallParameters(min_base_quality=0, min_alternate_count=1, min_alternate_fraction=0.0, min_indel_fraction=0.0)


def prepared(reads: list[Read], reference: str, parameters: CallParameters = P):
    """AlignedReads, Pileup and Sites of a whole reference."""
    aligned = aligned_reads(reads)
    window = window_of(reference)
    pileup = count_window(aligned, window, parameters)
    return aligned, pileup, find_sites(pileup, window, parameters)


def indels_of(reads: list[Read], reference: str, parameters: CallParameters = P):
    aligned, pileup, sites = prepared(reads, reference, parameters)
    sites = take(sites, "sites", sites.is_indel)
    return sites, weigh_indels(aligned, pileup, sites, codes(reference), 0, 1000)


def tables(likelihoods, site: int = 0) -> np.ndarray:
    pairs = likelihoods.pair_offsets[site + 1] - likelihoods.pair_offsets[site]
    values = likelihoods.values[likelihoods.value_offsets[site] : likelihoods.value_offsets[site + 1]]
    return values.reshape(pairs, -1)


def spelled(sites) -> list[tuple[int, bool, list[tuple[int, str]]]]:
    out = []
    for s in range(len(sites)):
        alleles = []
        for a in range(sites.allele_offsets[s], sites.allele_offsets[s + 1]):
            bases = sites.inserted[sites.inserted_offsets[a] : sites.inserted_offsets[a + 1]]
            alleles.append((int(sites.deleted[a]), "".join("ACGT*"[b] for b in bases)))
        out.append((int(sites.begin[s]), bool(sites.is_indel[s]), alleles))
    return out


# sites


def test_alleles_need_reads_and_a_share():
    reads = [Read(0, "1M", base, (30,)) for base in "A" * 20 + "C" * 4 + "G" + "T" * 2]
    _, _, sites = prepared(reads, "A", CallParameters())
    assert spelled(sites) == [(0, False, [(1, "A"), (1, "C")])]  # G: one read; T: 2 of 27


def test_no_alleles_where_the_reference_is_unknown():
    reads = [Read(0, "2M1D1M", "CCC", (30,) * 3) for _ in range(9)] + [Read(0, "3M1I1M", "CCCCC", (30,) * 5)] * 9
    _, _, sites = prepared(reads, "NNNN", CallParameters())
    assert len(sites) == 0


def test_a_deletion_across_a_base_is_an_allele_beside_another_base():
    reads = [Read(0, "2M1D3M", "ACTAC", (30,) * 5)] * 5 + [Read(0, "6M", "ACCTAC", (30,) * 6)] * 5
    _, _, sites = prepared(reads, "ACGTAC", CallParameters())
    assert spelled(sites) == [(2, True, [(0, ""), (1, "")]), (2, False, [(1, "G"), (1, "C"), (1, "*")])]


def test_sites_know_their_repeat():
    reference = "GT" + "CA" * 6 + "GG"
    reads = [Read(0, "8M2D6M", "GTCACACA" + "CACAGG", (30,) * 14)] * 3
    reads += [Read(0, "12M4I4M", "GT" + "CA" * 8 + "GG", (30,) * 20)] * 2
    _, _, sites = prepared(reads, reference)
    assert spelled(sites) == [(2, True, [(0, ""), (2, ""), (0, "CACA")])]
    assert (sites.stop.tolist(), sites.unit.tolist()) == ([14], [2])


def test_selected_sites_keep_their_alleles():
    reads = [Read(0, "2M1D3M1I2M", "ACTACGTA", (30,) * 8)] * 3 + [Read(0, "8M", "CCGTACTA", (30,) * 8)] * 3
    _, _, sites = prepared(reads, "ACGTACTA")
    rows = np.flatnonzero((sites.position >= 1) & (sites.position < 8))
    assert spelled(take(sites, "sites", rows)) == [spelled(sites)[r] for r in rows]
    assert take(sites, "sites", rows).source.size == take(sites, "sites", rows).deleted.size


# substitutions


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_substitutions_equal_plain_python(data):
    reference = data.draw(st.text("ACGT", min_size=30, max_size=30))
    reads = data.draw(reads_of(30))
    least = data.draw(st.integers(0, 20))
    aligned, _, sites = prepared(reads, reference)
    sites = take(sites, "sites", ~sites.is_indel)
    found = weigh_substitutions(aligned, sites, CallParameters(min_base_quality=least, max_depth=1000))
    for s, (begin, _, alleles) in enumerate(spelled(sites)):
        rows = []
        for read in sorted(reads, key=lambda read: read.position):
            rows += [row for row in [oracle_row(read, begin, alleles, least)] if row is not None]
        informed = found.allele[found.pair_offsets[s] : found.pair_offsets[s + 1]] != NOTHING
        assert np.allclose(tables(found, s)[informed], np.array(rows).reshape(-1, len(alleles)), atol=1e-12)


def oracle_row(read: Read, begin: int, alleles, least: int) -> list[float] | None:
    index, base = None, None
    seen = 0
    for p, q, operation in read.aligned():
        if p == begin and operation in "M=X":
            index, base = q, read.bases[q]
        elif p == begin and operation == "D" and seen:
            index, base = seen - 1, "*"
        seen = q + 1 if q is not None else seen
    if index is None or base == "N":
        return None
    quality = min(read.qualities[index], read.mapping_quality)
    if quality < max(least, 2):
        return None
    e = 10 ** (-quality / 10)
    return [math.log10(1 - e) if base == text else math.log10(e / 3) for _, text in alleles]


@pytest.mark.parametrize("quality", [2, 3, 10, 40, 93])
def test_probabilities_of_a_base_add_up(quality):
    assert 10 ** log_match(quality) + 3 * 10 ** log_mismatch(quality) == pytest.approx(1)


# indels

LEFT, RIGHT = random_sequence(40, seed=5), random_sequence(40, seed=6)


def read_of(sequence: str, start: int, cigar: str, position: int | None = None, **other) -> Read:
    size = sum(int(n) for n, o in Read(0, cigar, "", ()).operations if o in "MIS")
    return Read(start if position is None else position, cigar, sequence[start : start + size], (35,) * size, **other)


def test_a_read_end_counts_for_the_allele_it_fits():
    """Five bases behind a deletion are aligned without it, with mismatches or clipped: the deletion fits better."""
    reference = LEFT + "GATTACA" + RIGHT
    deleted = LEFT + RIGHT
    whole = [read_of(deleted, 10, "30M7D30M") for _ in range(3)]
    short, clipped = read_of(deleted, 0, "46M"), read_of(deleted, 0, "40M6S")
    other_side = read_of(deleted, 35, "40M", position=42)
    plain = read_of(reference, 0, "80M")
    sites, found = indels_of([*whole, short, clipped, other_side, plain], reference)
    assert spelled(sites)[0][2] == [(0, ""), (7, "")] or spelled(sites)[0][2][1][0] == 7
    reads = aligned_reads([*whole, short, clipped, other_side, plain])
    shown = dict(zip(found.read.tolist(), found.allele.tolist(), strict=True))
    by_start = {(int(reads.position[r]), int(reads.reference_stop[r])): a for r, a in shown.items()}
    assert by_start == {(0, 46): 1, (0, 40): 1, (0, 80): 0, (10, 77): 1, (42, 82): 1}


def test_a_read_that_ends_within_the_repeat_says_nothing():
    reference = LEFT + "A" * 12 + "C" + RIGHT
    longer = LEFT + "A" * 13 + "C" + RIGHT
    reads = [read_of(longer, 20, "20M1I30M") for _ in range(3)] + [read_of(longer, 0, "48M")]
    _, found = indels_of(reads, reference)
    assert found.allele[found.read == 0].tolist() == [NOTHING]
    assert (found.allele[found.read > 0] == 1).all()


def test_slips_are_likelier_in_long_repeats():
    tables_of = []
    for length in (3, 16):
        reference, longer = LEFT + "A" * length + "C" + RIGHT, LEFT + "A" * (length + 1) + "C" + RIGHT
        _, found = indels_of([read_of(longer, 10, "30M1I40M")] * 2, reference)
        tables_of.append(tables(found)[0])
    weights = [row[1] - row[0] for row in tables_of]
    assert weights[0] == pytest.approx(MAX_WEIGHT / 10) and 1 < weights[1] < 2


def test_one_read_cannot_say_more_than_its_placement():
    reference, deleted = LEFT + "GATTACA" + RIGHT, LEFT + RIGHT
    _, found = indels_of([read_of(deleted, 10, "30M7D30M", mapping_quality=20)], reference)
    assert np.ptp(tables(found)[0]) == pytest.approx(2.0)


def test_a_read_with_another_indel_nearby_keeps_its_allele():
    """Two insertions of one length in neighbouring repeats: each read shows one of them, and lacks the other."""
    reference = LEFT + "GT" * 6 + "CTTA" + RIGHT
    first = LEFT + "GT" * 8 + "CTTA" + RIGHT
    second = LEFT + "GT" * 6 + "CTTATTTA" + RIGHT
    reads = [read_of(first, 10, "30M4I40M") for _ in range(4)] + [read_of(second, 10, "46M4I25M") for _ in range(4)]
    sites, found = indels_of(reads, reference)
    assert len(sites) == 2
    for site in (0, 1):
        pairs = slice(found.pair_offsets[site], found.pair_offsets[site + 1])
        assert sorted(found.allele[pairs].tolist()) == [0] * 4 + [1] * 4


def test_mates_count_once_at_an_indel():
    reference, deleted = LEFT + "GATTACA" + RIGHT, LEFT + RIGHT
    gave_way = Read(10, "30M7D30M", deleted[10:70], (0,) * 60)
    _, found = indels_of([read_of(deleted, 10, "30M7D30M"), gave_way], reference)
    assert sorted(found.allele.tolist()) == [NOTHING, 1]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_read_is_lost_or_out_of_bounds(data):
    """Awkward CIGARs: each row is filled, bounded, and best where it says so."""
    reference = data.draw(st.text("AC", min_size=30, max_size=30))
    reads = data.draw(reads_of(30, few_bases="AC"))
    sites, found = indels_of(reads, reference)
    assert np.isfinite(found.values).all()
    for s in range(len(sites)):
        table = tables(found, s)
        assert (np.ptp(table, axis=1) <= MAX_WEIGHT / 10 + 1e-9).all() if table.size else True
        for row, allele in zip(table, found.allele[found.pair_offsets[s] :], strict=False):
            assert allele in (NOTHING, SEVERAL) or row[allele] == row.max()


def test_errors_of_other_sizes_than_the_unit_are_rare():
    assert log_indel_error(2, 2, 30) > log_indel_error(1, 2, 30) == log_indel_error(1, 1, 3) == -4.5
    assert log_indel_error(4, 2, 30) < log_indel_error(-2, 2, 30) == log_indel_error(2, 2, 30)
