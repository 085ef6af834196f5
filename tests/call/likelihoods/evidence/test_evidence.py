"""Sites and what reads say about their alleles."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, reads_of, window_of
from readwarp.call.candidates.pileup import count_window
from readwarp.call.candidates.sites.find import find_sites
from readwarp.call.likelihoods.evidence import NOTHING, log_match, log_mismatch, weigh_substitutions
from readwarp.config import CallParameters
from readwarp.ragged import take

P = CallParameters(min_base_quality=0, min_alternate_count=1, min_alternate_fraction=0.0, min_indel_fraction=0.0)


def prepared(reads: list[Read], reference: str, parameters: CallParameters = P):
    """AlignedReads, Pileup and Sites of a whole reference."""
    aligned = aligned_reads(reads)
    window = window_of(reference)
    pileup = count_window(aligned, window, parameters)
    return aligned, pileup, find_sites(pileup, window, parameters)


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


def test_errors_have_the_shares_of_one_copy_in_many():
    """At a ploidy of 100 five bases of Q37 in 1,000 are a candidate. Of Q12 it takes seventy."""
    for number, quality, ploidy, is_site in (
        (5, 37, 100, True),
        (5, 12, 100, False),
        (70, 12, 100, True),
        (5, 37, 2, False),
        (120, 12, 2, True),
    ):
        reads = [Read(0, "1M", "A", (37,))] * (1000 - number) + [Read(0, "1M", "C", (quality,))] * number
        _, _, sites = prepared(reads, "A", CallParameters(ploidy=ploidy))
        assert (len(sites) == 1) == is_site, (number, quality, ploidy)


def test_samples_show_an_allele_together():
    """Two bases of Q37 among those of sixty samples are enough, two among 600 or of Q10 are not; nor is one."""
    for number, others, quality, is_site in (
        (2, 60, 37, True),
        (2, 600, 37, False),
        (2, 60, 10, False),
        (1, 9, 37, False),
    ):
        reads = [Read(0, "3M", "ACG", (37,) * 3)] * others + [Read(0, "3M", "ATG", (quality,) * 3)] * number
        reads += [Read(0, "2M2I1M", "ACTTG", (37,) * 5)] * (number + 1)
        aligned = aligned_reads(reads)
        window, p = window_of("ACG"), CallParameters()
        parts = (count_window(take(aligned, "reads", slice(i, i + 1)), window, p) for i in range(len(aligned)))
        found = spelled(find_sites(count_window(aligned, window, p), window, p, None, list(parts)))
        assert ((1, False, [(1, "C"), (1, "T")]) in found) == is_site, (number, others, quality)
        assert ((2, True, [(0, ""), (0, "TT")]) in found) == (others <= 60)


def test_one_sample_alone_needs_its_share():
    """Two of thirty reads are too few in one sample, and so they are beside another one without the allele."""
    reads = [Read(0, "3M", "ACG", (37,) * 3)] * 28 + [Read(0, "3M", "ATG", (37,) * 3)] * 2
    aligned, window, p = aligned_reads(reads), window_of("ACG"), CallParameters()
    own = count_window(aligned, window, p)
    for parts in ([own], [own, count_window(take(aligned, "reads", slice(0, 9)), window, p)]):
        assert len(find_sites(own, window, p, None, iter(parts))) == 0


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
    assert take(sites, "sites", rows).is_forced.size == take(sites, "sites", rows).deleted.size


# substitutions


@settings(max_examples=100)
@given(st.data())
def test_substitutions_equal_plain_python(data):
    reference = data.draw(st.text("ACGT", min_size=30, max_size=30))
    reads = data.draw(reads_of(30))
    least = data.draw(st.integers(0, 20))
    aligned, _, sites = prepared(reads, reference)
    sites = take(sites, "sites", ~sites.is_indel)
    found = weigh_substitutions(aligned, sites, CallParameters(min_base_quality=least))
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
