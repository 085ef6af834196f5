"""INFO of calls compared with plain Python and tables made by hand; several samples, ploidies, forced alleles."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making_sites import call_sites, from_bases, made_likelihoods, made_sites, substitutions
from readwarp.call.records.genotypes.annotations import rank_sum, strand_phred, symmetric_odds_ratio
from readwarp.call.records.genotypes.cohort import stouffer
from readwarp.call.records.genotypes.filters import fraction_misfit
from readwarp.call.records.genotypes.order import genotypes_of, number_of
from readwarp.config import CallParameters
from readwarp.ragged import replace

R, A = [0.0, -3.5], [-3.5, 0.0]  # a read of the reference's allele, and of the other one


def histogram(values: list[int]) -> np.ndarray:
    return np.bincount(values, minlength=256).astype(np.int64)


def z_of(first: list[int], second: list[int]) -> float:
    """Mann and Whitney 1947 by all pairs; variance with ties as in Lehmann, Nonparametrics, 1975."""
    u = sum((b > a) + 0.5 * (a == b) for a, b in product(first, second))
    m, k, together = len(first), len(second), first + second
    n = m + k
    ties = sum(together.count(v) ** 3 - together.count(v) for v in set(together))
    variance = m * k / 12 * (n + 1 - ties / (n * (n - 1)))
    return (u - m * k / 2) / math.sqrt(variance) if variance > 1e-9 else 0.0


@settings(max_examples=100)
@given(*(st.lists(st.sampled_from([0, 3, 20, 60, 61, 255]) | st.integers(0, 255), min_size=1, max_size=12),) * 2)
def test_rank_sums(first, second):
    assert rank_sum(histogram(first), histogram(second)) == pytest.approx(z_of(first, second), abs=1e-9)
    assert rank_sum(histogram(second), histogram(first)) == pytest.approx(-z_of(first, second), abs=1e-9)


def test_rank_sums_by_hand():
    """Of ranks 1 to 6, the others have 4, 5 and 6: U = 9 of 9, mean 4.5, variance 9 * 7 / 12."""
    assert rank_sum(histogram([1, 2, 3]), histogram([7, 8, 9])) == pytest.approx(4.5 / math.sqrt(5.25))
    assert rank_sum(histogram([5, 5]), histogram([5])) == 0


@pytest.mark.parametrize(
    ("table", "expected"),
    [  # ln(R + 1 / R) + ln of the smaller by the greater of the reference's, less that of the others, counts plus one
        ((0, 0, 0, 0), math.log(2)),
        ((9, 9, 9, 9), math.log(2)),
        ((0, 0, 19, 0), math.log(20 + 1 / 20) - math.log(1 / 20)),
        ((9, 4, 0, 19), math.log(40 + 1 / 40) + math.log(5 / 10) - math.log(1 / 20)),
    ],
)
def test_symmetric_odds_ratio(table, expected):
    assert symmetric_odds_ratio(*table) == pytest.approx(expected)


def test_columns_of_a_call():
    """Three reads show the reference, four the other allele, one shows neither, and one says nothing."""
    calls = call_sites(
        substitutions((3, "AG")),
        made_likelihoods(
            [[R] * 3 + [A] * 4 + [[0.0, 0.0]] * 2],
            [[0, 0, 0, 1, 1, 1, 1, -1, -2]],
            mapping_quality=[60, 60, 60, 20, 20, 40, 60, 10, 0],
            quality=[30, 30, 31, 20, 21, 22, 30, 9, 9],
            strand=[0, 1, 0, 0, 0, 0, 0, 1, 1],
            end_distance=[5, 70, 300, 1, 2, 3, 4, 0, 0],
        ),
    )
    info = {name: column[0] for name, column in calls.annotations.items()}
    assert info["DP"] == calls.depth[0, 0] == 8 and calls.allele_depth == [((3, 4),)]
    squares = 4 * 3600 + 2 * 400 + 1600 + 100
    assert info["MQ"] == round(math.sqrt(squares / 8), 2)
    assert info["AMQ"] == round(math.sqrt((3600 + 2 * 400 + 1600) / 4), 2)
    assert info["ED"] == 2.5 and info["QD"] == round(calls.quality[0] / 8, 2)
    assert info["MQRankSum"] == round(z_of([60, 60, 60], [20, 20, 40, 60]), 3)
    assert info["ReadPosRankSum"] == round(z_of([5, 70, 300], [1, 2, 3, 4]), 3)
    assert info["BaseQRankSum"] == round(z_of([30, 30, 31], [20, 21, 22, 30]), 3)
    assert info["SOR"] == round(symmetric_odds_ratio(2, 1, 4, 0), 3)
    assert info["FS"] == round(-10 * math.log10(3 / 7), 3)  # one of the seven reads is on the other strand


def test_no_rank_sums_without_reads_of_the_reference():
    calls = call_sites(substitutions((3, "AG")), from_bases(["G" * 8], ["AG"]))
    assert all(math.isnan(calls.annotations[name][0]) for name in ("MQRankSum", "ReadPosRankSum", "BaseQRankSum"))


@settings(max_examples=50)
@given(st.integers(1, 6), st.integers(1, 5))
def test_place_of_a_genotype(alleles, ploidy):
    genotypes = genotypes_of(alleles, ploidy)
    assert [number_of(np.array(g), ploidy) for g in genotypes] == list(range(len(genotypes)))


# samples


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("ACG."), st.integers(0, 2)), min_size=1, max_size=40), st.integers(1, 3))
def test_each_sample_as_if_alone(reads, ploidy):
    """PL, AD and DP of a sample come from its own reads. Alleles are those of any genotype."""
    bases, samples = "".join(base for base, _ in reads), [sample for _, sample in reads]
    forced = [(0, 1), (0, 2)]  # so that every call has the same alleles
    sites = substitutions((3, "ACG"), forced=forced)
    together = call_sites(sites, from_bases([bases], ["ACG"], [samples]), samples=3, ploidy=ploidy)
    for sample in range(3):
        own = "".join(base for base, s in reads if s == sample)
        alone = call_sites(sites, from_bases([own], ["ACG"]), ploidy=ploidy)
        for name in ("allele_depth", "likelihoods"):
            assert getattr(together, name)[0][sample] == getattr(alone, name)[0][0]
        assert together.depth[0, sample] == alone.depth[0, 0] == len(own.replace(".", ""))
    without = call_sites(substitutions((3, "ACG")), from_bases([bases], ["ACG"], [samples]), samples=3, ploidy=ploidy)
    shown = {a for genotype in together.genotype[0] for a in genotype if a > 0}
    assert len(without) == bool(shown)
    if shown:
        assert without.alleles == [("A", *("ACG"[a] for a in sorted(shown)))]


def test_a_sample_without_reads():
    calls = call_sites(substitutions((3, "AG")), from_bases(["G" * 9 + "."], ["AG"], [[1] * 9 + [0]]), samples=3)
    assert calls.genotype == [((-1, -1), (1, 1), (-1, -1))] and calls.depth.tolist() == [[0, 9, 0]]
    assert calls.likelihoods[0][0] == (0, 0, 0) and calls.genotype_quality[0, 0] == 0
    assert calls.filters == [()]


def test_more_samples_than_were_said():
    with pytest.raises(ValueError, match="sample 2"):
        call_sites(substitutions((3, "AG")), from_bases(["GG"], ["AG"], [[0, 2]]), samples=2)


def test_the_fraction_is_that_of_the_sample_that_has_the_allele():
    """Three reads of 30 are enough if they belong to one of five samples."""
    calls = call_sites(
        substitutions((3, "AG")), from_bases(["A" * 27 + "GGG"], ["AG"], [[0] * 25 + [1] * 5]), samples=2
    )
    assert calls.genotype == [((0, 0), (0, 1))] and "LowFraction" not in calls.filters[0]
    assert calls.annotations["QD"][0] == round(calls.quality[0] / 5, 2)


# ploidies


def test_ploidy_of_each_site():
    sites = substitutions((3, "AG"), (5, "AG"), (9, "ACG"))
    likelihoods = from_bases(["G" * 9, "A" * 12 + "G" * 4, "C" * 9 + "G" * 9], ["AG", "AG", "ACG"])
    calls = call_sites(sites, likelihoods, ploidy=[1, 4, 2])
    assert calls.genotype == [((1,),), ((0, 0, 0, 1),), ((1, 2),)]
    assert [len(row[0]) for row in calls.likelihoods] == [2, 5, 6]


# forced alleles


@pytest.mark.parametrize(("bases", "genotype"), [("A" * 20, (0, 0)), ("", (-1, -1)), ("A" * 9 + "G" * 9, (0, 1))])
def test_a_forced_allele_is_always_a_record(bases, genotype):
    calls = call_sites(substitutions((3, "AG"), forced=[(0, 1)]), from_bases([bases], ["AG"]))
    assert calls.alleles == [("A", "G")] and calls.genotype == [(genotype,)]
    assert calls.filters == [() if 1 in genotype else (".",)]
    assert (calls.quality[0] > 20) == (1 in genotype)


def test_a_forced_allele_beside_a_called_one():
    calls = call_sites(substitutions((3, "ACG"), forced=[(0, 1)]), from_bases(["A" * 9 + "G" * 9], ["ACG"]))
    assert calls.alleles == [("A", "C", "G")] and calls.genotype == [((0, 2),)]


# spelling


@pytest.mark.parametrize(
    ("begin", "alleles", "position", "spelled"),
    [
        (5, [(0, ""), (0, "CG")], 4, ("A", "ACG")),
        (5, [(0, ""), (3, "")], 4, ("AAAA", "A")),
        (5, [(0, ""), (2, ""), (0, "T")], 4, ("AAA", "A", "ATAA")),
        (5, [(0, ""), (2, "CGT")], 5, ("AA", "CGT")),  # a replacement needs no base before it
        (5, [(0, ""), (2, "CGT"), (1, "")], 5, ("AA", "CGT", "A")),
        (0, [(0, ""), (0, "CG")], 0, ("A", "CGA")),  # no base before it
        (0, [(0, ""), (2, "")], 0, ("AAA", "A")),
    ],
)
def test_spelling(begin, alleles, position, spelled):
    n = len(alleles)
    table = [[0.0 if a == b else -3.5 for b in range(n)] for a in range(n) for _ in range(9)]
    sites = made_sites([(begin, alleles)], forced=[(0, a) for a in range(1, n)])
    calls = call_sites(sites, made_likelihoods([table], [[a for a in range(n) for _ in range(9)]]))
    assert (calls.position.tolist(), calls.alleles) == ([position], [spelled])


# filters


def filters_of(bases: str, mapping_quality: int, limits: dict | None = None, **columns) -> tuple[str, ...]:
    said = from_bases([bases], ["AG"])
    n = len(bases)
    table = said.values.reshape(1, n, 2).tolist()
    given = {"mapping_quality": [mapping_quality] * n, **columns}
    likelihoods = made_likelihoods(table, [["AG".find(b) for b in bases]], **given)
    return call_sites(substitutions((3, "AG")), likelihoods, parameters=CallParameters(**limits or {})).filters[0]


@pytest.mark.parametrize(
    ("bases", "mapping_quality", "failed"),
    [
        ("G" * 9, 25, ()),  # placed unsurely, but all of them say so
        ("A" * 9 + "G" * 9, 25, ()),
        ("A" * 19 + "G" * 6, 25, ("LowMapping",)),
        ("A" * 19 + "G" * 6, 39, ("LowMapping",)),
        ("A" * 19 + "G" * 6, 40, ()),
        ("A" * 18 + "G" * 6, 25, ()),
        ("A" * 30 + "G" * 5, 60, ("LowFraction",)),
        ("A" * 4 + "G", 60, ("LowQual",)),
    ],
)
def test_filters_of_share_and_placement(bases, mapping_quality, failed):
    assert filters_of(bases, mapping_quality) == failed


@given(
    table=st.lists(
        st.tuples(st.integers(1, 20), st.integers(0, 20), st.sampled_from([0, 1, 2, 4])), min_size=1, max_size=4
    )
)
def test_misfit_of_shares_is_a_ratio_of_binomials(table):
    """Samples of so many reads, of which so many at most show ALT alleles, with so many of four copies."""
    rows = [(n, min(k, n), copies) for n, k, copies in table]
    depth, reads, copies = (np.array([column]) for column in zip(*rows, strict=True))
    said = fraction_misfit(depth, reads / depth, copies / 4)[0]
    n, k = (sum(row[i] for row in rows if row[2]) for i in (0, 1))
    share = sum(row[0] * row[2] / 4 for row in rows) / n if n else 0.0

    def likelihood(share: float) -> float:
        return share**k * (1.0 - share) ** (n - k)

    ratio = likelihood(k / n) / likelihood(share) if n and likelihood(share) else 1.0 if not n else math.inf
    assert said == pytest.approx(10 * math.log10(ratio) if ratio < math.inf else ratio, abs=1e-6)


def test_filters_of_strands_and_ends():
    bases = "A" * 30 + "G" * 30
    assert filters_of(bases, 60, strand=[0] * 30 + [1] * 30) == ("StrandBias",)
    assert filters_of(bases, 60, strand=[0] * 30 + [0, 1] * 15) == ()  # it is the reference's reads that are biased
    assert filters_of(bases, 60, end_distance=[40] * 30 + [4] * 30) == ("ReadEnds",)
    assert filters_of(bases, 60) == ()


@pytest.mark.parametrize("bases", ["A" * 30 + "G" * 30, "G" * 60])
def test_where_all_reads_end_near_a_site_ends_are_no_sign(bases):
    """As within the first bases of an amplicon."""
    assert filters_of(bases, 60, end_distance=[2] * 60) == ()
    assert filters_of(bases, 60, end_distance=[4] * 30 + [2] * 30) == ()


@pytest.mark.parametrize("reads", [50, 500, 5_000, 150_000])
def test_strands_and_ends_mean_the_same_at_any_depth(reads):
    """Of REF and of ALT so many reads each: a slight bias is none, and one strand alone is one."""

    def said(forward: float, **columns) -> tuple[tuple[str, ...], dict[str, float]]:
        few = round(reads * (1 - forward))
        strand = [1] * few + [0] * (reads - few) + [0] * few + [1] * (reads - few)
        likelihoods = from_bases(["A" * reads + "G" * reads], ["AG"])
        columns = {"strand": np.array(strand, np.uint8), **columns}
        calls = call_sites(substitutions((3, "AG")), replace(likelihoods, **columns))
        names = ("FS", "SOR", "ReadPosRankSum")
        return calls.filters[0], {name: float(calls.annotations[name][0]) for name in names}

    distance = np.array([20, 22, 24, 26, 28] * (2 * reads // 5), np.int32)
    distance[reads:] += 1
    failed, info = said(0.52, end_distance=distance)
    assert failed == () and info["FS"] < 3 and info["SOR"] < 1 and 0 < info["ReadPosRankSum"] < 4
    failed, info = said(1.0)
    assert failed == ("StrandBias",) and info["SOR"] > 3


def test_annotations_of_a_cohort_are_those_of_one_sample():
    """A slight difference in each of 10,000 files is a slight one of all; one file's value stays as it is."""
    assert stouffer([(0.3, 30)]) == pytest.approx(0.3)
    assert stouffer([(0.3, 30)] * 4) == pytest.approx(0.6)
    assert stouffer([(0.3, 30)] * 10_000) == pytest.approx(0.3 * math.sqrt(200 / 30))
    assert stouffer([(1.5, 5_000)] * 2) == pytest.approx(1.5)
    assert strand_phred(10_000 * 16, 10_000 * 15, 10_000 * 15, 10_000 * 16) < 3


@pytest.mark.parametrize(
    ("limits", "failed"),
    [
        ({}, ()),
        ({"min_quality": 500}, ("LowQual",)),
        ({"max_strand_bias": 2}, ("StrandBias",)),
        ({"max_indel_strand_bias": 2}, ()),  # of indels alone
        ({"min_end_distance": 21}, ("ReadEnds",)),
        ({"min_allele_fraction": 0.9}, ("LowFraction",)),
        ({"min_haploid_fraction": 1}, ()),  # of a ploidy of 1 alone
        ({"min_alt_mapping_quality": 61}, ()),
        ({"min_alt_mapping_quality": 61, "min_expected_fraction": 0.9}, ("LowMapping",)),
        ({"min_quality": 500, "min_end_distance": 21}, ("LowQual", "ReadEnds")),
    ],
)
def test_limits_of_filters(limits, failed):
    """20 reads of A and 14 of G, with a slight strand bias."""
    strand = [0, 1] * 10 + [0] * 11 + [1] * 3
    assert filters_of("A" * 20 + "G" * 14, 60, limits, strand=strand, end_distance=[50] * 20 + [20] * 14) == failed
