"""Joint genotyping compared with a plain oracle: united alleles, PLs carried over, frequencies, genotypes and QUAL."""

from itertools import combinations, islice, product
from math import comb, factorial, log10, prod

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.cohorts import EVERYWHERE, block, found_in, genotypes, variant, written
from helpers.jobs import genotype_cohort
from readwarp.call.records.genotypes.cohort import mean, only, root_mean_square, stouffer
from readwarp.call.records.genotypes.order import genotype_tables, genotypes_of
from readwarp.call.records.genotypes.quality import share_of_ways
from readwarp.call.records.genotypes.spell import trim_end
from readwarp.cohort.genotype import Genotyped, copies_prior, find_genotypes, find_qualities, ploidy_of
from readwarp.cohort.sites import GvcfRecord, SiteAlleles, find_sites, lengthen
from readwarp.config import Resources
from readwarp.ragged import offsets_of

CONTIGS = {"one": 200}
PLOIDIES = tuple((ploidy, 4) for ploidy in range(1, 9))


@st.composite
def cohorts(draw, most_samples=4):
    """The alleles of a site, and the ploidy and PLs of each sample."""
    alleles, out = draw(st.integers(2, 3)), []
    for _ in range(draw(st.integers(1, most_samples))):
        ploidy = draw(st.integers(1, 3))
        phred = draw(
            st.lists(st.integers(0, 60), min_size=genotypes(alleles, ploidy), max_size=genotypes(alleles, ploidy))
        )
        out.append((ploidy, [x - min(phred) for x in phred]))
    return alleles, out


def genotyped(alleles: int, samples, theta: float = 1e-3, star: int = -1) -> Genotyped:
    """The genotypes of one site by the kernels."""
    site = SiteAlleles(np.array([alleles]), np.array([star]), np.array([False]))
    ploidy = np.array([[p for p, _ in samples]], np.int8)
    phred = np.array([x for _, own in samples for x in own], np.int32)
    out = Genotyped(
        ploidy=ploidy,
        has_prior=np.zeros(ploidy.shape, bool),
        status=np.zeros(ploidy.shape, np.uint8),
        phred=phred,
        phred_offsets=offsets_of([len(own) for _, own in samples]),
        expected=np.zeros(alleles),
        allele_offsets=np.array([0, alleles]),
        is_informed=np.array([[len(set(own)) > 1 for _, own in samples]]),
        best=np.full((1, len(samples), 3), -1, np.int8),
        genotype_quality=np.zeros((1, len(samples)), np.int32),
        quality=np.zeros(1),
    )
    tables = genotype_tables(PLOIDIES)
    find_genotypes(site, tables, out)
    find_qualities(site, np.array([theta]), tables, out)
    return out


def prior(genotype, others) -> float:
    """Polya's urn: alleles are drawn one by one, and each is put back with another one; times the orders."""
    urn, p = [1.0 + n for n in others], 1.0
    for allele in genotype:
        p *= urn[allele] / sum(urn)
        urn[allele] += 1.0
    orders = factorial(len(genotype)) / prod(factorial(genotype.count(a)) for a in set(genotype))
    return p * orders


def posterior(phred, alleles, ploidy, others):
    weights = [10 ** (-x / 10) * prior(g, others) for g, x in zip(genotypes_of(alleles, ploidy), phred, strict=True)]
    return [w / sum(weights) for w in weights]


def copies(weights, alleles, ploidy):
    return [
        sum(w * g.count(a) for g, w in zip(genotypes_of(alleles, ploidy), weights, strict=True)) for a in range(alleles)
    ]


def oracle(alleles, samples):
    """Genotype and GQ of each sample, None where its PLs are alike."""
    known = [i for i, (_, phred) in enumerate(samples) if len(set(phred)) > 1]
    own = {i: [0.0] * alleles for i in known}
    for _ in range(50):
        total = [sum(own[i][a] for i in known) for a in range(alleles)]
        own = {
            i: copies(
                posterior(samples[i][1], alleles, samples[i][0], [t - o for t, o in zip(total, own[i], strict=True)]),
                alleles,
                samples[i][0],
            )
            for i in known
        }
        fresh = [sum(own[i][a] for i in known) for a in range(alleles)]
        if max((abs(x - y) for x, y in zip(fresh, total, strict=True)), default=0) < 1e-3:
            break
    out = []
    for i, (ploidy, phred) in enumerate(samples):
        if i not in known:
            out.append(None)
            continue
        weights = posterior(phred, alleles, ploidy, [max(0.0, f - o) for f, o in zip(fresh, own[i], strict=True)])
        out.append(weights)
    return out


@settings(max_examples=150)
@given(cohorts())
def test_genotypes_are_the_likeliest_given_those_of_the_others(cohort):
    alleles, samples = cohort
    found = genotyped(alleles, samples)
    for i, (weights, (ploidy, _)) in enumerate(zip(oracle(alleles, samples), samples, strict=True)):
        called = tuple(found.best[0, i, :ploidy].tolist())
        if weights is None:
            assert set(called) == {-1} and found.genotype_quality[0, i] == 0
            continue
        place = genotypes_of(alleles, ploidy).index(called)
        assert weights[place] == pytest.approx(max(weights), rel=1e-6)
        if sum(len(set(phred)) > 1 for _, phred in samples) == 1:  # alone: as `readwarp call` weighs them
            copies_of_others = [sum(a > 0 for a in genotype) for genotype in genotypes_of(alleles, ploidy)]
            weights = [w / max(1, k) for w, k in zip(weights, copies_of_others, strict=True)]
        wrong = (sum(weights) - weights[place]) / sum(weights)
        assert found.genotype_quality[0, i] == pytest.approx(min(99, -10 * log10(max(wrong, 1e-12))), abs=0.51)


@pytest.mark.parametrize("ploidy", [1, 2, 3, 8])
def test_one_sample_alone_has_the_genotype_of_its_likelihoods(ploidy):
    phred = [30, 7, 0, 0, *range(5, 5 + genotypes(2, 8))][: genotypes(2, ploidy)]
    phred = [x - min(phred) for x in phred]
    tables = genotype_tables(PLOIDIES)
    flat = {
        round(copies_prior(tables.alleles[tables.first[ploidy, 2] + g], ploidy, np.zeros(2)), 12)
        for g in range(ploidy + 1)
    }
    assert len(flat) == 1
    if ploidy <= 3:
        found = genotyped(2, [(ploidy, phred)])
        assert tuple(found.best[0, 0, :ploidy].tolist()) == genotypes_of(2, ploidy)[phred.index(0)]
        weights = [10 ** (-x / 10) / max(1, k) for k, x in enumerate(phred)]
        wrong = 1 - weights[phred.index(0)] / sum(weights)
        assert found.genotype_quality[0, 0] == round(-10 * log10(wrong))


def test_the_others_decide_where_a_sample_does_not():
    unsure, reference, other = (2, [3, 0, 60]), (2, [0, 60, 600]), (2, [600, 60, 0])
    assert genotyped(2, [unsure] + [reference] * 20).best[0, 0, :2].tolist() == [0, 0]
    assert genotyped(2, [unsure] + [other] * 3).best[0, 0, :2].tolist() == [0, 1]
    assert genotyped(2, [(2, [300, 0, 300])] + [reference] * 200).best[0, 0, :2].tolist() == [0, 1]


def quality_by_hand(alleles, samples, theta, star) -> float:
    """Every way to mark the copies that are not REF, k at a time."""
    known = [(p, phred) for p, phred in samples if len(set(phred)) > 1]
    by_count = []
    for ploidy, phred in known:
        own = [0.0] * (ploidy + 1)
        for g, x in zip(genotypes_of(alleles, ploidy), phred, strict=True):
            others = [a for a in g if a not in (0, star)]
            own[len(others)] += 10 ** (-x / 10) * theta ** max(0, len(set(others)) - 1)
        by_count.append(own)
    owner = [i for i, (p, _) in enumerate(known) for _ in range(p)]
    total = []
    for k in range(len(owner) + 1):
        ways = [
            prod(own[sum(owner[m] == i for m in marks)] for i, own in enumerate(by_count))
            for marks in combinations(range(len(owner)), k)
        ]
        total.append(sum(ways) / len(ways))
    weights = [total[0] * (1 - theta * sum(1 / k for k in range(1, len(owner) + 1)))]
    weights += [total[k] * theta / k for k in range(1, len(owner) + 1)]
    return -10 * log10(weights[0] / sum(weights)) if known else 0.0


@settings(max_examples=100)
@given(cohorts(3), st.sampled_from([1e-3, 1.25e-4, 0.01]), st.booleans())
def test_quality(cohort, theta, has_star):
    alleles, samples = cohort
    star = alleles - 1 if has_star and alleles > 2 else -1
    found = genotyped(alleles, samples, theta, star)
    assert found.quality[0] == pytest.approx(quality_by_hand(alleles, samples, theta, star), abs=0.02, rel=1e-4)


def test_quality_of_a_thousand_samples():
    """The only carrier in a thousand has 2 of the 2,000 copies that might carry it: its QUAL is 30 less than alone."""
    carrier, reference = (2, [300, 0, 300]), (2, [0, 60, 600])
    of = lambda samples: genotyped(2, samples).quality[0]  # noqa: E731
    alone, among, none = of([carrier]), of([reference] * 500 + [carrier] + [reference] * 499), of([reference] * 1000)
    assert alone == pytest.approx(300 - 30, abs=0.1)
    assert among == pytest.approx(alone - 30, abs=0.1)
    assert none < 0.1
    assert of([carrier] * 1000) > 100_000


@pytest.mark.parametrize(
    ("k", "j", "before", "more"), [(3, 1, 4, 2), (0, 0, 5, 3), (2, 2, 0, 2), (4, 0, 3, 2), (5, 3, 9, 8)]
)
def test_ways_to_place_marks(k, j, before, more):
    expected = comb(before, k - j) * comb(more, j) / comb(before + more, k)
    assert share_of_ways(k, j, before, more) == pytest.approx(expected)


def test_ploidy_by_the_number_of_likelihoods():
    for alleles, ploidy in product(range(2, 7), range(1, 9)):
        assert ploidy_of(comb(alleles + ploidy - 1, ploidy), alleles, 8) == ploidy
    assert ploidy_of(4, 3, 8) == 0


# alleles of several files -------------------------------------------------------------------------------------------

REFERENCE = "GATTTACACACAGGCTAAAAC"


@st.composite
def indels(draw):
    """A deletion and an insertion, or either, after the base at 2."""
    gone = draw(st.integers(0, 8))
    ref = REFERENCE[2 : 3 + gone]
    alts = draw(
        st.lists(st.text("ACGT", min_size=0, max_size=4).map(lambda x: ref[0] + x), min_size=1, max_size=3, unique=True)
    )
    return ref, tuple(a for a in alts if a != ref) or (ref + "A",)


@given(st.lists(indels(), min_size=1, max_size=5))
def test_alleles_put_together_mean_what_they_meant(lines):
    records = [GvcfRecord(i, 0, 2, ref, alts, "") for i, (ref, alts) in enumerate(lines)]
    sites = find_sites(records, EVERYWHERE, 50, 2)
    assert [site.position for site in sites] == [2] * len(sites)
    for site in sites:
        assert REFERENCE[2:].startswith(site.alleles[0]) and len(set(site.alleles)) == len(site.alleles)
        for record, codes in site.own.values():
            for alt, code in zip(record.alternates, codes[1:], strict=False):
                kept = REFERENCE[2 + len(site.alleles[0]) :]
                assert site.alleles[code] + kept == alt + REFERENCE[2 + len(record.reference) :]
    assert sorted(file for site in sites for file in site.own) == list(range(len(lines)))


def test_substitutions_stand_apart_unless_a_line_mixes_them():
    snv, deletion = GvcfRecord(0, 0, 5, "A", ("C",), ""), GvcfRecord(1, 0, 5, "AC", ("A",), "")
    assert [site.alleles for site in find_sites([deletion, snv], EVERYWHERE, 8, 2)] == [("A", "C"), ("AC", "A")]
    mixed = GvcfRecord(2, 0, 5, "AC", ("A", "CC"), "")
    (site,) = find_sites([deletion, snv, mixed], EVERYWHERE, 8, 2)
    assert site.alleles == ("AC", "CC", "A")


def test_the_rarest_alleles_are_left_out():
    records = [GvcfRecord(i, 0, 5, "A", (alt,), "") for i, alt in enumerate("CGTGTG")]
    (site,) = find_sites(records, EVERYWHERE, 2, 2)
    assert site.alleles == ("A", "G", "T") and site.is_cut


def test_alleles_are_spelled_shorter_once_others_are_gone():
    assert trim_end(("ATTT", "ATT", "A")) == ("ATTT", "ATT", "A")
    assert trim_end(("ATTT", "ATT", "*")) == ("AT", "A", "*")
    assert lengthen("A", "AT", "ATGG") == "AGG"


# likelihoods over the alleles of all -------------------------------------------------------------------------------


def likelihoods(found, sample: int, site: int = 0) -> list[int]:
    row = site * found.ploidy.shape[1] + sample
    return found.phred[found.phred_offsets[row] : found.phred_offsets[row + 1]].tolist()


def cohort_of(tmp_path, *files):
    paths = []
    for i, lines in enumerate(files):
        paths.append(tmp_path / f"{i}.vcf")
        paths[-1].write_text(written(lines, f"s{i}", CONTIGS))
    return paths


@settings(max_examples=60)
@given(st.data())
def test_an_allele_that_a_line_lacks_is_its_non_ref(tmp_path_factory, data):
    """Each file lists some of C, G and T. The kernel finds what a look-up by hand finds."""
    tmp_path, listed, tables = tmp_path_factory.mktemp("lines"), [], []
    for _ in range(data.draw(st.integers(1, 3))):
        own = data.draw(st.lists(st.sampled_from("CGT"), min_size=1, max_size=3, unique=True))
        listed.append(own)
        size = genotypes(len(own) + 2, 2)
        tables.append(data.draw(st.lists(st.integers(0, 999), min_size=size, max_size=size)))
    files = [[variant(50, "A", ",".join(own), "0/1", phred)] for own, phred in zip(listed, tables, strict=True)]
    (site,), _, found = found_in(cohort_of(tmp_path, *files), CONTIGS)
    assert not found.status.any()
    for i, (own, phred) in enumerate(zip(listed, tables, strict=True)):
        names = ["A", *own]
        here = dict(zip(genotypes_of(len(own) + 2, 2), phred, strict=True))
        wanted = []
        for genotype in genotypes_of(len(site.alleles), 2):
            spelled = (site.alleles[a] for a in genotype)
            wanted.append(here[tuple(sorted(names.index(a) if a in names else len(names) for a in spelled))])
        assert likelihoods(found, i) == [x - min(wanted) for x in wanted]


def test_blocks_other_lines_and_nothing(tmp_path):
    own = [variant(50, "A", "C", "0/1", [200, 0, 300, 260, 310, 500])]
    reference = [block(0, 200, "G", [0, 60, 700])]
    beside = [variant(50, "A", "AGG", "0/1", [90, 0, 80, 120, 130, 400])]
    (site, other), _, found = found_in(cohort_of(tmp_path, own, reference, beside, []), CONTIGS)
    assert (site.alleles, other.alleles) == (("A", "C"), ("A", "AGG"))
    assert likelihoods(found, 1) == [0, 60, 700]
    assert likelihoods(found, 2) == [0, 120, 400]  # an insertion after it leaves the base as it is
    assert likelihoods(found, 0, 1) == [0, 260, 500]
    assert likelihoods(found, 3) == [0, 0, 0] and found.best[0, 3].tolist() == [-1, -1]


DELETION = variant(48, "GTAC", "G", "0/1", [200, 0, 300, 260, 310, 500], quality=70)


def test_a_deletion_across_a_site_is_a_star(tmp_path):
    carrier = [variant(50, "A", "C", "0/1", [200, 0, 300, 260, 310, 500])]
    homozygous = [variant(48, "GTAC", "G", "1/1", [500, 90, 0, 510, 95, 520])]
    both = [DELETION, variant(50, "A", "C", "0/1", [150, 0, 300, 260, 310, 500], quality=70)]
    (_, site), _, found = found_in(cohort_of(tmp_path, carrier, [DELETION], homozygous, both), CONTIGS)
    assert site.alleles == ("A", "C", "*")
    assert found.best[1].tolist() == [[0, 1], [0, 2], [2, 2], [1, 2]]
    # 0/0, 0/1, 1/1, 0/*, 1/*, */*
    assert likelihoods(found, 1, 1) == [200, 260, 500, 0, 310, 300]
    assert likelihoods(found, 3, 1) == [220, 70, 300, 150, 0, 300]


def test_a_sample_whose_allele_is_left_out_has_no_genotype(tmp_path):
    files = [[variant(50, "A", alt, "1/1", [500, 90, 0, 510, 95, 520])] for alt in "CCT"]
    (site,), _, found = found_in(cohort_of(tmp_path, *files), CONTIGS, max_alts=1)
    assert site.alleles == ("A", "C")
    assert found.best[0].tolist() == [[1, 1], [1, 1], [-1, -1]]


@pytest.mark.parametrize(("alleles", "copies"), [(127, 2), (2500, 2), (60, 4), (9, 12)])
def test_any_number_of_alleles_of_any_ploidy(tmp_path, alleles, copies):
    """The rarest are left out before any table of genotypes is made, though --ploidy is 2."""
    (tmp_path / "ref.fa").write_text(f">one\n{'A' * 200}\n")
    names = ["A" + "".join(bases) for bases in islice(product("CGT", repeat=8), alleles)]
    phred = [80] * genotypes(alleles + 2, copies)
    phred[copies + 1] = 0  # of one copy of the second allele
    many = variant(50, "A", ",".join(names), "/".join(["0"] * (copies - 1) + ["2"]), phred)
    few = variant(50, "A", f"{names[1]},{names[0]}", "0/1", [50, 0, 50, 60, 60, 60, 60, 60, 60, 60])
    genotype_cohort(tmp_path / "ref.fa", cohort_of(tmp_path, [many], [few]), tmp_path / "out.vcf", Resources(1))
    with pysam.VariantFile(str(tmp_path / "out.vcf")) as file:
        (record,) = file
        limits = record.info.get("LIM", ())
    assert record.alleles == ("A", names[1]) and "alleles" in limits
    assert [own["GT"] for own in record.samples.values()] == [(*[0] * (copies - 1), 1), (0, 1)]


def test_samples_of_different_ploidy(tmp_path):
    haploid = [variant(50, "A", "C", "1", [300, 0, 320])]
    triploid = [variant(50, "A", "C", "0/1/1", [300, 90, 0, 60, *[400] * 6])]
    (_,), _, found = found_in(cohort_of(tmp_path, haploid, triploid, []), CONTIGS, ploidy=3)
    assert found.ploidy.tolist() == [[1, 3, 3]]
    assert found.best[0].tolist() == [[1, -1, -1], [0, 1, 1], [-1, -1, -1]]


def test_means():
    nan = float("nan")
    assert mean([(2.0, 1), (5.0, 2), (nan, 9)]) == 4.0
    assert root_mean_square([(3.0, 1), (4.0, 1)]) == pytest.approx((12.5) ** 0.5)
    assert stouffer([(1.5, 7)]) == pytest.approx(1.5) and stouffer([(1.0, 9), (1.0, 16)]) == pytest.approx(7 / 5)
    assert only([(3.0, 1)]) == 3.0
    assert all(x != x for x in (mean([]), only([]), only([(1.0, 1), (1.0, 1)]), stouffer([(nan, 3)])))
