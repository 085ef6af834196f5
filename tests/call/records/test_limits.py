"""What a limit left out is said: in the records, on the terminal and in the metrics."""

import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cohorts import indexed, variant, written
from helpers.jobs import call_variants, genotype_cohort
from helpers.making import random_sequence, tiled, window_of, write_bam, write_fasta
from readwarp.call.candidates.sites import MAX_ALLELES
from readwarp.call.candidates.sites.find import MISSING, limit_alleles, list_alleles, sites_of
from readwarp.call.records.limits import limit_of
from readwarp.config import CallParameters, JointParameters
from readwarp.ragged import check
from readwarp.wording import counted

LEFT, RIGHT = random_sequence(400, seed=5) + "T", "A" + random_sequence(700, seed=6)
SEQUENCE, PLACE = LEFT + RIGHT, 400
INSERTED = ["G", "CC", "GCG", "CGGC", "GGCCG", "CCCGCC", "GCCGCCG", "CGCGGCGC"]
BASE = 800


def called(folder, haplotypes, ploidy, most=1000, **options):
    """INFO LIM of each record, by position, and what was counted. most: reads of a region."""
    fasta = write_fasta(folder / "c.fa", {"c": SEQUENCE})
    reads = tiled(haplotypes, SEQUENCE, step=4, length=100)
    bam = write_bam(folder / "c.bam", {"c": len(SEQUENCE)}, [("c", read) for read in reads])
    metrics = call_variants(
        fasta, bam, folder / "c.vcf", CallParameters(ploidy=ploidy, max_region_reads=most), **options
    )
    with pysam.VariantFile(str(folder / "c.vcf")) as file:
        return [(r.start, len(r.alleles), r.info.get("LIM")) for r in file], metrics.counts


@pytest.mark.parametrize("number", [MAX_ALLELES - 1, len(INSERTED)])
def test_alleles_beyond_those_of_a_site(tmp_path, caplog, number):
    """Nothing is said of as many as a site has room for, nor of a site elsewhere; regions=... asks for half of it."""
    snv = (BASE, SEQUENCE[BASE], "CGTA"["ACGT".index(SEQUENCE[BASE])])
    haplotypes = [[(PLACE, "T", "T" + bases), snv] for bases in INSERTED[:number]]
    records, counts = called(tmp_path, haplotypes, number)
    beyond = number - (MAX_ALLELES - 1)
    limit = ("alleles",) if beyond else None
    assert records == [(PLACE, MAX_ALLELES, limit), (BASE, 2, None)]
    assert counts["alleles_left_out"] == beyond
    assert (f"{counted(beyond, 'allele')} left out at sites with too many" in caplog.text) == (beyond > 0)
    for region, own in ((("c", 0, PLACE + 1), beyond), (("c", PLACE + 1, len(SEQUENCE)), 0)):
        _, counts = called(tmp_path, haplotypes, number, regions=(region,))
        assert counts["alleles_left_out"] == own


def test_alleles_with_too_many_genotypes(tmp_path, caplog):
    own = SEQUENCE[BASE]
    others = [base for base in "ACGT" if base != own]
    haplotypes = [[(BASE, own, others[k % 3])] if k < 60 else [] for k in range(100)]
    records, counts = called(tmp_path, haplotypes, 100)
    assert records == [(BASE, 3, ("alleles",))] and counts["alleles_left_out"] == 1
    assert "1 allele left out" in caplog.text


def test_reads_of_a_region_follow_the_ploidy(tmp_path):
    """Some 250 reads of eight copies: more than 100 for two copies, fewer than 400 for eight."""
    haplotypes = [[(PLACE, "T", "TGCG")] if k == 0 else [] for k in range(8)]
    for ploidy, limit, thinned in ((8, None, 0), (4, ("reads",), 1)):
        records, counts = called(tmp_path, haplotypes, ploidy, 100)
        assert records == [(PLACE, 2, limit)] and counts["regions_thinned"] == thinned


@pytest.mark.parametrize("number", [1, 2])
def test_alleles_beyond_those_of_a_cohorts_site(tmp_path, caplog, number):
    """Of a cohort genotyped by its gVCFs: two files have C, one has T; and all have another site."""
    fasta, lengths = write_fasta(tmp_path / "c.fa", {"one": "A" * 300}), {"one": 300}
    phred = [500, 90, 0, 510, 95, 520]
    for name, alt in zip("xyz", "CCT", strict=True):
        lines = [variant(50, "A", alt, "1/1", phred), variant(90, "A", "G", "1/1", phred)]
        indexed(tmp_path / name, written(lines, name, lengths))
    files, parameters = [tmp_path / f"{name}.g.vcf.gz" for name in "xyz"], JointParameters(max_alts=number)
    genotype_cohort(fasta, files, tmp_path / "c.vcf", parameters=parameters)
    with pysam.VariantFile(str(tmp_path / "c.vcf")) as file:
        found = [(r.start, r.alts, r.info.get("LIM")) for r in file]
    limited = (50, ("C",), ("alleles",)) if number == 1 else (50, ("C", "T"), None)
    assert found == [limited, (90, ("G",), None)]
    assert ("1 site with more alleles than --max-alleles" in caplog.text) == (number == 1)


def test_where_an_allele_is_left_out():
    limit = limit_of([(10, 1, b"\1"), (20, 3, b""), (30, 0, b"\1\2"), (40, 2, b"\1\2\3")])
    assert list(zip(limit.start.tolist(), limit.stop.tolist(), strict=True)) == [(10, 11), (19, 23), (29, 31), (39, 42)]
    assert limit_of([]).start.size == 0


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.lists(st.booleans(), min_size=1, max_size=9)), max_size=4))
def test_which_alleles_stay(rows):
    """Of each site: forced ones and the missing base, then the first ones up to the limit."""
    window, every, asked, expected, lost = window_of(SEQUENCE), [], [], [], []
    for n, (is_indel, has_missing, forced) in enumerate(rows):
        begin = 100 * n + 50
        named = [(0 if is_indel else 1, bytes([1] * (k + 2))) for k in range(len(forced))]
        alleles = [(0, b"") if is_indel else (1, b"\0"), *named, *[MISSING] * has_missing]
        every.append((begin, is_indel, alleles))
        asked += [(begin, *allele) for allele, is_forced in zip(named, forced, strict=True) if is_forced]
        room = MAX_ALLELES - 1 - sum(forced) - has_missing
        stays = [allele for k, allele in enumerate(named) if forced[k] or k - sum(forced[:k]) < room]
        expected.append([alleles[0], *stays, *[MISSING] * has_missing])
        lost += [(begin, *allele) for allele in named if allele not in stays]
    sites = sites_of(list(every), window, asked)
    fewer, left_out = limit_alleles(sites, window)
    check(fewer)
    again = sites_of([(begin, kind, own) for (begin, kind, _), own in zip(every, expected, strict=True)], window, asked)
    assert list_alleles(fewer) == list_alleles(again) and left_out == lost
    assert fewer.stop.tolist() == again.stop.tolist() and fewer.unit.tolist() == again.unit.tolist()
